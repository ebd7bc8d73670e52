"""Diffs for the tests of commit, pr and changelog."""

from __future__ import annotations


def diff_of(path, lines=("+x = 1",), header=""):
    body = "\n".join(lines)
    old = sum(line[0] in " -" for line in lines)
    new = sum(line[0] in " +" for line in lines)
    return (
        f"diff --git a/{path} b/{path}\n{header}--- a/{path}\n+++ b/{path}\n"
        f"@@ -1,{old} +1,{new} @@ def f():\n{body}\n"
    )


CART = diff_of("lib/shop/cart.py", ["-    total = 1", "+    total = tax_rate * 2"])
LARGE = (
    diff_of("lib/shop/cart.py", [f"+one line {i} of the cart" for i in range(150)])
    + diff_of("lib/mail/queue.py", [f"+one line {i} of the queue" for i in range(150)])
    + diff_of("tests/test_cart.py", ["+def test_tax():", "+    assert True", "-def test_old():"])
    + diff_of("yarn.lock", ["+a"] * 50)
)
