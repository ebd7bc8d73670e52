"""Write a small SQLite database to ask questions of: python examples/kits/make_shop.py shop.db"""

import sqlite3
import sys

TABLES = """
CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT, city TEXT);
CREATE TABLE invoice (
  id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customer (id),
  day DATE, amount NUMERIC, paid BOOLEAN
);
INSERT INTO customer VALUES (1, 'Okafor', 'Leeds'), (2, 'Lindqvist', 'Oslo'), (3, '王芳', 'Oslo');
INSERT INTO invoice VALUES
  (1, 1, '2026-03-02', 120.5, 1), (2, 2, '2026-03-09', 80, 0), (3, 3, '2026-04-01', 200, 1),
  (4, 2, '2026-04-11', 40, 1);
"""

with sqlite3.connect(sys.argv[1]) as shop:
    shop.executescript(TABLES)
shop.close()
