{{ config(materialized='table', indexes=[{'columns': ['status'], 'unique': true}], post_hook='analyze {{ this }}') }}
select status, sum(amount) as total, count(*) as n from {{ ref('staged') }} group by status
