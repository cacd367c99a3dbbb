{{ config(materialized='incremental', unique_key='id', incremental_strategy='merge') }}
select id, status from {{ ref('staged') }}
