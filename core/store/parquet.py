"""Texts in Parquet files, row by row: a batch is in memory, and of a group of rows as much as was written at once.

That much is told nowhere before it is read, and is the whole group in the worst case; so groups are bounded by what the
file says of them.
"""

from collections.abc import Iterator
from pathlib import Path

import pyarrow
from pyarrow import parquet

from core.contracts.errors import DataError
from core.contracts.notices import notice

ROWS = 64
"""Of a batch at most."""
BATCH = 64 << 20
"""Bytes of a batch of more rows than one, if each were as large as its group: one of a dictionary may be, often."""
GROUP = 512 << 20
"""Bytes of the texts of a group of rows. To read one that was written at once takes four times as much memory."""
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
        DataError: it is no Parquet file, is damaged, has no such column or several, or too large groups of rows.
        OSError: it cannot be read.
    """
    try:
        with parquet.ParquetFile(path, buffer_size=BUFFER, pre_buffer=False) as file:
            chosen = _column(path, file.schema_arrow, column)
            for group, size in enumerate(_sizes(path, file.metadata, chosen)):
                rows = max(1, min(ROWS, BATCH // max(1, size)))
                for batch in file.iter_batches(rows, [group], columns=[chosen], use_threads=False):
                    yield from (text.as_py() for text in batch.column(0) if text.is_valid)
    except (pyarrow.ArrowException, UnicodeDecodeError, OSError) as error:
        if isinstance(error, OSError) and error.errno:
            raise
        raise DataError(notice("data.bad_parquet", path=str(path), why=str(error))) from error


def _sizes(path: Path, metadata: parquet.FileMetaData, column: str) -> list[int]:
    """Bytes of the column in each group of rows.

    Raises:
        DataError: one is too large.
    """
    index = next(index for index in range(metadata.num_columns) if metadata.schema.column(index).path == column)
    groups = [metadata.row_group(group).column(index) for group in range(metadata.num_row_groups)]
    sizes = [max(group.total_uncompressed_size, group.total_compressed_size) for group in groups]
    if sizes and max(sizes) > GROUP:
        raise DataError(notice("data.group_too_large", path=str(path), size=max(sizes), most=GROUP))
    return sizes


def _column(path: Path, schema: pyarrow.Schema, wanted: str | None) -> str:
    names = [field.name for field in schema if _is_text(field.type)]
    if not names:
        raise DataError(notice("data.no_texts", path=str(path)))
    if wanted is None:
        if "text" not in names and len(names) != 1:
            raise DataError(notice("data.which_column", path=str(path), known=names[:SHOWN]))
        wanted = "text" if "text" in names else names[0]
    if wanted not in names:
        raise DataError(notice("data.no_column", path=str(path), column=wanted, known=names[:SHOWN]))
    if schema.names.count(wanted) > 1:
        raise DataError(notice("data.column_twice", path=str(path), column=wanted))
    return wanted


def _is_text(kind: pyarrow.DataType) -> bool:
    types = pyarrow.types
    return bool(types.is_string(kind) or types.is_large_string(kind))
