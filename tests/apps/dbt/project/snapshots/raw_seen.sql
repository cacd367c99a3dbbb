{% snapshot raw_seen %}{{ config(target_schema='an', unique_key='id', strategy='check', check_cols=['status']) }}select * from {{ ref('raw') }}{% endsnapshot %}
