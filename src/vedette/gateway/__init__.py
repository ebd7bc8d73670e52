"""The dispatcher in front of larger models, and its ledger.

The ledger needs what the extra `gateway` brings; without it, importing this package raises
`CapabilityMissing`.
"""

from importlib.util import find_spec

from vedette.errors import CapabilityMissing

if find_spec("sqlalchemy") is None:
    raise CapabilityMissing(
        "the gateway needs sqlalchemy, which is not installed",
        hint="install it with: pip install 'vedette[gateway]'",
    )
