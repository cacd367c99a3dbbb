-- Thirty queries over documents, texts, windows, recursion, LATERAL, arrays and DISTINCT ON. No part of the server was made for them.
-- M1
select doc->>'source' as source, count(*), sum((doc->>'price')::numeric) from mixed.events group by 1 order by 1;
-- M2
select count(*), sum(amount) from mixed.events where doc @> '{"geo": {"country": "FR"}, "vip": true}';
-- M3
select item->>'sku' as sku, sum((item->>'qty')::int) as sold from mixed.events, jsonb_array_elements(doc->'items') as item
where kind = 'buy' group by 1 order by 2 desc, 1 limit 10;
-- M4
select doc->'geo'->>'country' as country, kind, count(*), max(amount) from mixed.events
where (doc->>'price')::numeric > 450 group by 1, 2 having count(*) > 5 order by 1, 2;
-- M5
select person, jsonb_agg(jsonb_build_object('at', at, 'kind', kind) order by at, id) from mixed.events
where person between 100 and 120 group by person order by person;
-- M6
select count(*) from mixed.events where doc @? '$.items[*] ? (@.qty > 6 && @.sku == "sku-123")';
-- M7
select count(*) from mixed.articles where to_tsvector('english', body) @@ to_tsquery('english', 'storm & sea & !snow');
-- M8
select id, round(ts_rank(to_tsvector('english', body), q)::numeric, 4) as rank from mixed.articles, to_tsquery('english', 'ship & winter & market') as q
where to_tsvector('english', body) @@ q order by rank desc, id limit 10;
-- M9
select count(*), min(id) from mixed.articles where body like '%old stories%' or title like '%99%';
-- M10
select id, ts_headline('english', body, q) from mixed.articles, phraseto_tsquery('english', 'rising storm') as q
where to_tsvector('english', body) @@ q order by id limit 20;
-- M11
select kind, count(*), sum(amount) from (select kind, amount, row_number() over (partition by person order by at desc, id) as place
  from mixed.events) as latest where place <= 3 group by kind order by kind;
-- M12
select sensor, max(step), min(step), count(*) from (select sensor, value - lag(value) over (partition by sensor order by at) as step
  from mixed.readings) as steps where step > 0 group by sensor order by 2 desc, 1 limit 10;
-- M13
select sensor, max(total) from (select sensor, sum(value) over (partition by sensor order by at) as total from mixed.readings) as sums
group by sensor order by sensor;
-- M14
select sensor, at, mean from (select sensor, at, avg(value) over (partition by sensor order by at rows between 9 preceding and current row) as mean
  from mixed.readings where sensor < 20) as means order by mean desc, sensor, at limit 10;
-- M15
select month, kind, total, rank() over (partition by month order by total desc) as place,
  round(100 * total / sum(total) over (partition by month), 2) as percent
from (select date_trunc('month', at) as month, kind, sum(amount) as total from mixed.events group by 1, 2) as sums order by month, place, kind;
-- M16
select person, count(*) as sessions from (select person, at - lag(at) over (partition by person order by at, id) as gap from mixed.events) as gaps
where gap is null or gap > interval '2 hours' group by person order by sessions desc, person limit 10;
-- M17
select part, min(amount), max(amount), count(*) from (select amount, ntile(10) over (order by amount, id) as part from mixed.events
  where kind = 'buy') as parts group by part order by part;
-- M18
with recursive below as (select id, 0 as depth from mixed.people where manager is null
  union all select p.id, depth + 1 from below join mixed.people p on p.manager = below.id where p.id <> below.id)
select depth, count(*), sum(id) from below group by depth order by depth;
-- M19
with recursive reached (node, hops) as (select id, 0 from mixed.people where id < 20 union select b, hops + 1 from reached join mixed.edges on a = node where hops < 5)
select hops, count(*) from reached group by hops order by hops;
-- M20
with recursive days as (select date '2024-01-01' as day union all select day + 1 from days where day < date '2024-03-31')
select day, count(e.id), coalesce(sum(e.amount), 0) from days left join mixed.events e on e.at >= day and e.at < day + 1 and e.kind = 'buy'
group by day order by day;
-- M21
with recursive chain as (select id, id as top, 0 as depth from mixed.people where id between 2 and 40
  union all select p.id, top, depth + 1 from chain join mixed.people p on p.manager = chain.id and p.id <> chain.id where depth < 3)
select top, count(distinct chain.id), sum(e.amount) from chain join mixed.events e on e.person = chain.id group by top order by top;
-- M22
select p.city, count(*), sum(e.amount) from mixed.people p cross join lateral (select amount from mixed.events
  where person = p.id order by at desc, id limit 3) as e group by p.city order by p.city;
-- M23
select p.id, p.name, s.buys, s.spent from mixed.people p cross join lateral (select count(*) as buys, sum(amount) as spent from mixed.events e
  where e.person = p.id and e.kind = 'buy') as s where p.city = 'Oslo' and s.buys > 0 order by s.spent desc, p.id limit 10;
-- M24
select p.city, t.tag, count(*) from mixed.people p join mixed.events e on e.person = p.id cross join lateral unnest(e.tags) as t (tag)
where e.kind = 'return' and t.tag in ('sale', 't7', 't12') group by 1, 2 order by 1, 2;
-- M25
select count(*), sum(amount) from mixed.events where tags @> array['t7', 'sale'] or tags @> array['t3', 't9'];
-- M26
select tag, count(*), count(distinct person) from mixed.events, unnest(tags) as tag where at < timestamp '2024-02-01' group by tag order by 2 desc, 1 limit 15;
-- M27
select kinds, count(*) from (select person, array_agg(distinct kind order by kind) as kinds from mixed.events where amount > 900 group by person) as k
group by kinds order by 2 desc, 1;
-- M28
select array_length(tags, 1) as size, count(*) from mixed.events where 't11' = any (tags) and not 'sale' = any (tags) group by 1 order by 1;
-- M29
select kind, count(*), min(at), max(at) from (select distinct on (person) person, kind, at from mixed.events order by person, at desc, id desc) as last
group by kind order by kind;
-- M30
select sensor, count(*), sum(value) from (select distinct on (sensor, date_trunc('hour', at)) sensor, value from mixed.readings
  order by sensor, date_trunc('hour', at), value desc, at) as peaks group by sensor order by sensor limit 20;
