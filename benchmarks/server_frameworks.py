"""What frameworks and servers cost beside the model: requests a second and the 99th percentile of one process.

    python benchmarks/server_frameworks.py
    (pip install fastapi litestar granian uvloop; apt-get install wrk)

Two questions of `cofactor serve`, answered with numbers that are made anew for each: ten items for a known user (GET,
five values of the query are checked) and predictions of twenty pairs with the probabilities of five levels (POST, each
pair is checked). The server has a core of its own and wrk another one; sixteen connections.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.error import URLError
from urllib.request import urlopen

from common import publish, table

PORT = 8765
SECONDS = 5
LEVELS = 5
RECOMMENDED = "/users/{id}/recommendations"
ADDRESS = f"http://127.0.0.1:{PORT}/users/42/recommendations?n=10&exclude_seen=true&rank_by=like&at_least=4"
POSTED = """
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.body = '{"pairs": [' .. string.rep('{"user": 42, "item": "50"}, ', 19) .. '{"user": 42, "item": 181}]}'
"""


# ---------------------------------------------------------------- what is answered


def ten(user: str, n: int) -> dict[str, Any]:
    return {"user": user, "items": [{"item": k, "score": 4.75 - k / 7} for k in range(n)]}


def predicted(pairs: list[Any]) -> dict[str, Any]:
    rows = [
        {
            "user": pair.user,
            "item": pair.item,
            "rating": 3 + k / 7,
            "probabilities": [k / 97 + j / 7 for j in range(LEVELS)],
        }
        for k, pair in enumerate(pairs)
    ]
    return {"levels": [1, 2, 3, 4, 5], "predictions": rows}


# ---------------------------------------------------------------- applications


def starlette_msgspec() -> Any:
    import msgspec
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    class Query(msgspec.Struct, forbid_unknown_fields=True):
        n: Annotated[int, msgspec.Meta(ge=1)] = 10
        exclude_seen: bool = True
        rank_by: str | None = None
        at_least: float | None = None
        quantile: float | None = None

    class Pair(msgspec.Struct, forbid_unknown_fields=True):
        user: int | str
        item: int | str

    class Body(msgspec.Struct, forbid_unknown_fields=True):
        pairs: list[Pair]

    read, write = msgspec.json.Decoder(Body).decode, msgspec.json.Encoder().encode

    async def lists(request: Request) -> Response:
        query = msgspec.convert(dict(request.query_params), Query, strict=False)
        return Response(write(ten(request.path_params["id"], query.n)), media_type="application/json")

    async def pairs(request: Request) -> Response:
        return Response(write(predicted(read(await request.body()).pairs)), media_type="application/json")

    return Starlette(routes=[Route(RECOMMENDED, lists), Route("/predictions", pairs, methods=["POST"])])


def fastapi() -> Any:
    from fastapi import FastAPI, Query
    from pydantic import BaseModel, ConfigDict

    class Item(BaseModel):
        item: int | str
        score: float

    class Items(BaseModel):
        user: int | str
        items: list[Item]

    class Pair(BaseModel):
        model_config = ConfigDict(extra="forbid")
        user: int | str
        item: int | str

    class Body(BaseModel):
        model_config = ConfigDict(extra="forbid")
        pairs: list[Pair]

    class Prediction(Pair):
        rating: float
        probabilities: list[float]

    class Predictions(BaseModel):
        levels: list[float]
        predictions: list[Prediction]

    async def lists(
        id: str,
        n: Annotated[int, Query(ge=1)] = 10,
        exclude_seen: bool = True,
        rank_by: str | None = None,
        at_least: float | None = None,
        quantile: float | None = None,
    ) -> Any:
        return ten(id, n)

    async def pairs(body: Body) -> Any:
        return predicted(body.pairs)

    app = FastAPI()
    app.add_api_route(RECOMMENDED, lists, response_model=Items)
    app.add_api_route("/predictions", pairs, methods=["POST"], response_model=Predictions)
    return app


def litestar() -> Any:
    import msgspec
    from litestar import Litestar, get, post
    from litestar.params import Parameter

    class Pair(msgspec.Struct, forbid_unknown_fields=True):
        user: int | str
        item: int | str

    class Body(msgspec.Struct, forbid_unknown_fields=True):
        pairs: list[Pair]

    async def lists(
        id: str,
        n: Annotated[int, Parameter(ge=1)] = 10,
        exclude_seen: bool = True,
        rank_by: str | None = None,
        at_least: float | None = None,
        quantile: float | None = None,
    ) -> dict[str, Any]:
        return ten(id, n)

    async def pairs(data: Body) -> dict[str, Any]:
        return predicted(data.pairs)

    for handler, known in ((lists, {}), (pairs, {"Body": Body})):
        handler.__annotations__ |= {"return": dict[str, Any], **({"data": Body} if known else {})}
    return Litestar([get("/users/{id:str}/recommendations")(lists), post("/predictions", status_code=200)(pairs)])


APPLICATIONS: dict[str, Callable[[], Any]] = {
    "Starlette, msgspec": starlette_msgspec,
    "FastAPI (pydantic)": fastapi,
    "Litestar (msgspec)": litestar,
}


# ---------------------------------------------------------------- servers


def uvicorn(app: Any, loop: str) -> None:
    import uvicorn as server

    server.run(app, port=PORT, loop=loop, http="httptools", access_log=False, log_level="error", ws="none")


def granian(name: str) -> None:
    from granian import Granian
    from granian.constants import Interfaces

    os.environ["APPLICATION"] = name
    Granian(f"{__file__}:app_by_name", port=PORT, interface=Interfaces.ASGI, factory=True, log_enabled=False).serve()


def app_by_name() -> Any:
    """Return the application which the environment names: workers of Granian are processes of their own."""
    return APPLICATIONS[os.environ["APPLICATION"]]()


SERVERS: dict[str, Callable[[str], None]] = {
    "uvicorn, asyncio": lambda name: uvicorn(APPLICATIONS[name](), "asyncio"),
    "uvicorn, uvloop": lambda name: uvicorn(APPLICATIONS[name](), "uvloop"),
    "Granian": granian,
}


# ---------------------------------------------------------------- measuring


@dataclass(frozen=True)
class Rate:
    """What wrk found."""

    requests: float
    p99: str


def asked(*more: str) -> Rate:
    """Ask for some seconds; no answer may be an error."""
    command = ["taskset", "-c", "1", "wrk", "-t1", "-c16", f"-d{SECONDS}s", "--latency", *more]
    text = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    if "Non-2xx" in text or "Socket errors" in text:
        raise RuntimeError(text)
    found = re.search(r"Requests/sec:\s+([\d.]+)", text), re.search(r"99%\s+(\S+)", text)
    if not all(found):
        raise RuntimeError(text)
    return Rate(float(found[0][1]), found[1][1])  # type: ignore[index]


def wait() -> None:
    """Wait until the server answers."""
    for _ in range(200):
        try:
            urlopen(ADDRESS).read()
            return
        except URLError:
            time.sleep(0.1)
    raise RuntimeError("the server did not begin")


def main() -> None:
    rows = []
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(POSTED)
        script.flush()
        for name in APPLICATIONS:
            for server in SERVERS:
                command = ["taskset", "-c", "0", sys.executable, __file__, name, server]
                with subprocess.Popen(command, start_new_session=True) as process:
                    wait()
                    asked(ADDRESS)  # begins cold
                    get = asked(ADDRESS)
                    post = asked("-s", script.name, f"http://127.0.0.1:{PORT}/predictions")
                    os.killpg(process.pid, 15)
                rows.append([name, server, f"{get.requests:,.0f}", get.p99, f"{post.requests:,.0f}", post.p99])
                print(rows[-1], flush=True)
    header = ["application", "server", "GET, a second", "p99", "POST, a second", "p99"]
    publish("frameworks of servers", table(header, rows))


if __name__ == "__main__":
    if len(sys.argv) == 3:
        SERVERS[sys.argv[2]](sys.argv[1])
    else:
        main()
