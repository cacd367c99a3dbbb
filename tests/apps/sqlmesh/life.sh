# SQLMesh: a plan with a seed, a view, a full, an incremental and a unique-key model, a second environment, a change, and what is in the tables.
cp -r project "$APP_SCRATCH"
cd "$APP_SCRATCH/project"
export SQLMESH__DISABLE_ANONYMIZED_ANALYTICS=true SQLMESH_DEBUG=0 NO_COLOR=1
step() {
  echo "== $*"
  sqlmesh "$@" >said 2>&1
  local status=$?
  echo "status $status"
  [ $status = 0 ] || tail -5 said
}
shown() {
  for model in items dear totals by_day by_key; do
    psql -qXAt -c "SELECT '$model', * FROM $1.$model ORDER BY 2"
  done
}
step plan --auto-apply --no-prompts --end 2024-01-05 --execution-time 2024-01-06
shown shop
sed -i 's/price \* 2/price * 3/' models/by_key.sql
step plan dev --auto-apply --no-prompts --include-unmodified --end 2024-01-05 --execution-time 2024-01-06
psql -qXAt -c "SELECT * FROM shop__dev.by_key ORDER BY 1" -c "SELECT * FROM shop.by_key ORDER BY 1"
step plan --auto-apply --no-prompts --end 2024-01-05 --execution-time 2024-01-06
shown shop
step run --ignore-cron --end 2024-01-05 --execution-time 2024-01-06
step audit --start 2024-01-01 --end 2024-01-05
step invalidate dev
step janitor
psql -qXAt -c "SELECT table_schema, count(*) FROM information_schema.views WHERE table_schema LIKE 'shop%' GROUP BY 1 ORDER BY 1"
