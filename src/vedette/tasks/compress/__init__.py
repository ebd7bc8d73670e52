"""A long text made short: blocks and sentences, their worth, the choice within a budget."""
