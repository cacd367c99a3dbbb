"""ADBC and polars: write, append, read, metadata."""

import os

import adbc_driver_postgresql.dbapi as adbc
import polars as pl
import pyarrow as pa

url = os.environ["DATABASE_URL"]
frame = pl.DataFrame({"id": [1, 2, 3], "name": ["a", "b", None], "x": [1.5, None, 2.5]})
print("written:", frame.write_database("things", url, engine="adbc", if_table_exists="replace"))
print("appended:", frame.write_database("things", url, engine="adbc", if_table_exists="append"))
print(pl.read_database_uri("SELECT id, name, x FROM things ORDER BY id, name NULLS LAST", url, engine="adbc"))
with adbc.connect(url) as connection:
    with connection.cursor() as cursor:
        cursor.adbc_ingest("ingested", pa.table({"k": [1, 2], "d": [b"x", b"y"]}), mode="create")
        cursor.adbc_ingest("ingested", pa.table({"k": [3], "d": [b"z"]}), mode="append")
        cursor.execute("SELECT count(*), max(k) FROM ingested")
        print(cursor.fetchall())
    connection.commit()
    objects = connection.adbc_get_objects(depth="all", db_schema_filter="public").read_all().to_pylist()
    for catalog in objects:
        for schema in catalog["catalog_db_schemas"] or []:
            for table in sorted(schema["db_schema_tables"] or [], key=lambda t: t["table_name"]):
                print(schema["db_schema_name"], table["table_name"], table["table_type"], [c["column_name"] for c in table["table_columns"] or []])
    print(connection.adbc_get_table_schema("things"))
