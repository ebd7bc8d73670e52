"""Values of rows brought into one form: rules first, a model only where rules cannot tell."""

from .fields import Defaults, Field, read_fields
from .task import Clean

__all__ = ["Clean", "Defaults", "Field", "read_fields"]
