"""Which tasks cross a red line: what a small model is not to be trusted with."""
