"""``mercer demo``: the page to play with."""

from __future__ import annotations

import click

from .terminal import one_sentence


@click.command()
@click.argument("table", required=False, type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--port",
    default=8742,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="On this machine alone; 0 takes any that is free.",
)
@click.option("--no-browser", is_flag=True, help="Do not open a browser.")  # fmt: skip
@one_sentence
def demo(table: str | None, port: int, no_browser: bool) -> None:
    """Serve a page to play with: digits completed live, words read, your own table learnt.

    TABLE is a file to learn from (CSV, Excel, JSON Lines, Parquet); one can also be dropped on the
    page. Nothing leaves this machine.
    """
    import webbrowser

    from ..demo import serve

    try:
        server = serve(port, table)
    except OSError as problem:
        if problem.filename is not None:
            raise  # of the table, not of the port
        raise click.ClickException(
            f"port {port} cannot be had ({problem.strerror}): choose another with --port."
        ) from None
    address = server.address + ("/#table" if table else "")
    click.echo(f"Open {address} in a browser. Ctrl-C ends it.")
    if not no_browser:
        webbrowser.open(address)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        click.echo()
    finally:
        server.server_close()
