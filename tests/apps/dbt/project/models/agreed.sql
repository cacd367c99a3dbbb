{{ config(materialized='table', contract={'enforced': true}) }}
select id::int as id, status::text as status from {{ ref('staged') }}
