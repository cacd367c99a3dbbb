{{ config(materialized='view') }}
select id, status, amount::numeric as amount from {{ ref('raw') }} where status not in ('x')
