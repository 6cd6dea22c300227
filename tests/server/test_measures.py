"""Figures of several processes are one."""

from __future__ import annotations

from cofactor.server.monitoring import Measures


def test_what_processes_count_is_added_up() -> None:
    measures = Measures(["/v1/model"], ["default"], n_rows=2)
    measures.row(1).note("GET", "/v1/model", 200, 0.004)
    measures.row(1).set_now(3)
    measures.row(0).note("GET", "/v1/model", 200, 0.5)
    measures.row(0).note("BREW", "/nowhere", 418, 20.0)
    measures.row(0).set_now(1)
    measures.count_reload("default", "refused")
    lines = measures.text().decode().splitlines()
    of_model = 'method="GET",route="/v1/model"'
    for expected in (
        f'cofactor_requests_total{{{of_model},status="200"}} 2.0',
        'cofactor_requests_total{method="other",route="none",status="other"} 1.0',
        f'cofactor_request_seconds_bucket{{le="0.0025",{of_model}}} 0.0',
        f'cofactor_request_seconds_bucket{{le="0.005",{of_model}}} 1.0',
        f'cofactor_request_seconds_bucket{{le="+Inf",{of_model}}} 2.0',
        f"cofactor_request_seconds_sum{{{of_model}}} 0.504",
        'cofactor_request_seconds_bucket{le="10.0",method="other",route="none"} 0.0',
        "cofactor_requests_now 4.0",
        'cofactor_reloads_total{model="default",outcome="refused"} 1.0',
    ):
        assert expected in lines
