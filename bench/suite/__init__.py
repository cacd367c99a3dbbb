"""The benchmark system: what is measured (`groups`), on whom (`targets`), what comes out (`results`), how it is shown (`report`, `plots`)
and judged (`baseline`). README.md beside this folder says why it measures as it does."""
