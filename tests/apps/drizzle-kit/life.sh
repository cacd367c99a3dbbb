# drizzle-kit: push twice (the second finds nothing), and introspection.
cp schema.ts "$APP_SCRATCH/"
cd "$APP_SCRATCH"
ln -s "$APP_BUILD/node_modules" node_modules
cat >drizzle.config.json <<C
{ "dialect": "postgresql", "schema": "./schema.ts", "out": "./out", "dbCredentials": { "url": "$DATABASE_URL" } }
C
run() { drizzle-kit "$@" --config drizzle.config.json 2>&1 | sed 's/\x1b\[[0-9;?]*[a-zA-Z]//g' | tr '\r' '\n' | grep -v '^ *$\|Pulling\|Reading\|Using\|⣷\|⣯\|⣟\|⡿\|⢿\|⣻\|⣽\|⣾' | sort -u; }
run push --force
run push --force
run introspect | grep -c . >/dev/null
sed 's/--.*//' out/*.sql | grep -v '^ *$'
cat out/schema.ts | grep -v '^ *$'
