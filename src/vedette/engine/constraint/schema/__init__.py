"""JSON Schemas, looked through keyword by keyword before anything is decoded under them."""

from vedette.schema_report import KeywordReport, SchemaReport, UnknownKeyword

from .analyse import Analysis, analyse
from .matcher import SchemaMatcher
from .report import SchemaRefused

__all__ = [
    "Analysis",
    "KeywordReport",
    "SchemaMatcher",
    "SchemaRefused",
    "SchemaReport",
    "UnknownKeyword",
    "analyse",
]
