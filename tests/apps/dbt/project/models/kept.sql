{{ config(materialized='materialized_view') }}
select status, count(*) as n from {{ ref('staged') }} group by status
