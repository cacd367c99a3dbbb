module pgsqlitetest

go 1.22
