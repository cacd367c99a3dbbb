# Liquibase: update, status, rollback to a tag, snapshot, generated change log, difference, checksums, dropping all.
cp changes.xml people.csv "$APP_SCRATCH"
cd "$APP_SCRATCH"
export LIQUIBASE_ANALYTICS_ENABLED=false
step() {
  echo "== $1"
  java liquibase.integration.commandline.LiquibaseCommandLine --show-banner=false --log-level=OFF --search-path=. \
    --url="jdbc:postgresql://$PGHOST:$PGPORT/$PGDATABASE" --username=postgres --password=unused "$@" 2>&1 |
    sed -E "s/:$PGPORT/:PORT/g; s|[0-9]+/[0-9]+/[0-9]+, [0-9]+:[0-9]+ [AP]M|WHEN|g; s/\\b[0-9]{10}\\b/ID/g; s/15\\.[0-9]+( \\(.*\\))?\$/15/; s/[0-9]{13}-[0-9]+/ID/g; s/[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]+[+Z0-9:]*/WHEN/g; s/in [0-9]+ milliseconds/in time/; s/[0-9]+ms/time/g; s/locked by .*/locked/; s/snapshotId=.*//" |
    grep -v '^Starting Liquibase\|^Liquibase Version\|Deployment ID\|^Snapshot taken\|^ *snapshotId'
}
step update --changelog-file=changes.xml
psql -qXAt -c "SELECT id, name, born, price, active FROM person ORDER BY id" -c "SELECT * FROM owners" -c "SELECT id, author, exectype, md5sum, tag FROM databasechangelog ORDER BY orderexecuted"
step status --changelog-file=changes.xml
step validate --changelog-file=changes.xml
step history
step rollback --tag=five --changelog-file=changes.xml
step update-sql --changelog-file=changes.xml
step update --changelog-file=changes.xml
step snapshot
step diff --reference-url="jdbc:postgresql://$PGHOST:$PGPORT/$PGDATABASE" --reference-username=postgres --reference-password=unused
step generate-changelog --changelog-file=made.xml
sed -E 's/id="[0-9]+-/id="ID-/; s/author="[^"]*"/author=""/' made.xml | grep -v changeSet | sort
step drop-all
psql -qXAt -c "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY 1"
