"""`manage.py dbshell`."""

from __future__ import annotations

from typing import Any

from django.db.backends.base.client import BaseDatabaseClient


class DatabaseClient(BaseDatabaseClient):
    """Starts Informix' own `dbaccess`, which must be installed."""

    executable_name = "dbaccess"

    @classmethod
    def settings_to_cmd_args_env(cls, settings_dict: dict[str, Any], parameters: Any) -> Any:
        name = settings_dict["NAME"]
        server = settings_dict["OPTIONS"].get("server")
        return [cls.executable_name, f"{name}@{server}" if server else name, *parameters], None
