"""Texts in Parquet files, row by row: a batch is in memory, however large a file or its groups of rows are."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow
from pyarrow import parquet

from core.contracts.errors import DataError
from core.contracts.notices import notice

ROWS = 64
"""Of a batch: a document may have 16 MB."""
BUFFER = 1 << 20
"""Bytes of a file that are read at once, of each column; else it would be a group's whole column."""
SHOWN = 20
"""Columns that a sentence names."""


def texts(path: Path, column: str | None) -> Iterator[str]:
    """The texts of one column. Rows that have none are passed over.

    Args:
        path: the file.
        column: by its name; None: `text`, or the only one with texts.

    Raises:
        DataError: it is no Parquet file, is damaged, or has no such column.
        OSError: it cannot be read.
    """
    try:
        with parquet.ParquetFile(path, buffer_size=BUFFER, pre_buffer=False) as file:
            chosen = _column(path, file.schema_arrow, column)
            for batch in file.iter_batches(ROWS, columns=[chosen], use_threads=False):
                yield from (text for text in batch.column(0).to_pylist() if text is not None)
    except (pyarrow.ArrowException, UnicodeDecodeError, OSError) as error:
        if isinstance(error, OSError) and error.errno:
            raise
        raise DataError(notice("data.bad_parquet", path=str(path), why=str(error))) from error


def _column(path: Path, schema: pyarrow.Schema, wanted: str | None) -> str:
    names = [field.name for field in schema if _is_text(field.type)]
    if wanted in names or (wanted is None and "text" in names):
        return wanted or "text"
    if wanted is None and len(names) == 1:
        return str(names[0])
    if wanted is None:
        raise DataError(notice("data.which_column", path=str(path), known=names[:SHOWN]))
    raise DataError(notice("data.no_column", path=str(path), column=wanted, known=names[:SHOWN]))


def _is_text(kind: pyarrow.DataType) -> bool:
    types = pyarrow.types
    return bool(types.is_string(kind) or types.is_large_string(kind))
