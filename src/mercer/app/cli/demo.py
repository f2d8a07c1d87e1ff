"""``mercer demo``: the web page."""

from __future__ import annotations

import click

from .terminal import report_errors


@click.command()
@click.argument("table", required=False, type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--port",
    default=8742,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Port on this machine; 0 chooses a free one.",
)
@click.option("--no-browser", is_flag=True, help="Do not open a browser.")  # fmt: skip
@report_errors
def demo(table: str | None, port: int, no_browser: bool) -> None:
    """Serve a web page that learns from your own table.

    TABLE is a file to learn from (CSV, Excel, JSON Lines, Parquet); you can also drop one on the
    page. Nothing leaves this machine.
    """
    import webbrowser

    from ..page import serve

    try:
        server = serve(port, table)
    except OSError as problem:
        if problem.filename is not None:
            raise  # about the table, not about the port
        raise click.ClickException(
            f"port {port} is not available ({problem.strerror}): choose another with --port."
        ) from None
    address = server.address
    click.echo(f"Open {address} in a browser. Press Ctrl-C to stop.")
    if not no_browser:
        webbrowser.open(address)
    try:
        server.run()
    except KeyboardInterrupt:
        click.echo()  # the usual way to end it
