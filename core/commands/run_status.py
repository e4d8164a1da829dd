"""`hearth run status`: how a run stands; `--html` writes it as a page for any web server."""

import argparse
from pathlib import Path

from core.commands import common
from core.community.run_page import lines, page
from core.contracts.control import RunReportParams
from core.contracts.errors import DataFolderError
from core.contracts.notices import notice
from core.contracts.run_report import RunReport
from core.store.writing import write_whole


def status(options: argparse.Namespace) -> None:
    """Say how a run stands, and write the page if one is wanted.

    Raises:
        DataFolderError: the page cannot be written.
    """
    with common.client(options) as client:
        report = client.call("run_report", RunReportParams(options.run), RunReport)
    if options.html:
        path = Path(options.html)
        try:
            write_whole(path, [page(report).encode()])
        except OSError as error:
            raise DataFolderError(notice("data.not_written", path=str(path), why=str(error.strerror))) from error
    if options.json:
        common.print_json(report)
        return
    print(f"{report.title} ({report.id})")
    for name, text in lines(report):
        print(f"{name:9} {text}")
    if options.html:
        print(f"Wrote {options.html}.")
