"""A question about a database to a SELECT statement that the database accepts.

The package needs what the extra `sql` brings; without it, importing it raises
`CapabilityMissing`.
"""

from importlib.util import find_spec

from vedette.errors import CapabilityMissing

for _name in ("sqlalchemy", "sqlglot"):
    if find_spec(_name) is None:
        raise CapabilityMissing(
            f"sql needs {_name}, which is not installed",
            hint="install it with: pip install 'vedette[sql]'",
        )
