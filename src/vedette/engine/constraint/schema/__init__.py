"""JSON Schemas, looked through keyword by keyword before anything is decoded under them."""

from .analyse import Analysis, analyse
from .matcher import SchemaMatcher
from .report import KeywordReport, SchemaRefused, SchemaReport, UnknownKeyword

__all__ = [
    "Analysis",
    "KeywordReport",
    "SchemaMatcher",
    "SchemaRefused",
    "SchemaReport",
    "UnknownKeyword",
    "analyse",
]
