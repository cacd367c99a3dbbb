MODEL (name shop.by_day, kind INCREMENTAL_BY_TIME_RANGE (time_column day), cron '@daily');
SELECT id, price, day FROM shop.items WHERE day BETWEEN @start_date AND @end_date;
