"""What a git repository says: diffs, commits, hooks. It calls git, and knows no model."""
