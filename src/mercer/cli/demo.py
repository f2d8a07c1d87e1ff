"""``mercer demo``: the page to play with."""

from __future__ import annotations

import click


@click.command()
@click.option(
    "--port",
    default=8742,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="On this machine alone; 0 takes any that is free.",
)
@click.option("--no-browser", is_flag=True, help="Do not open a browser.")  # fmt: skip
def demo(port: int, no_browser: bool) -> None:
    """Serve a page to play with: digits completed live, words read, your own strings learnt."""
    import webbrowser

    from ..demo import serve

    try:
        server = serve(port)
    except OSError as problem:
        raise click.ClickException(
            f"port {port} cannot be had ({problem.strerror}): choose another with --port."
        ) from None
    click.echo(f"{server.address} (Ctrl-C ends it)")
    if not no_browser:
        webbrowser.open(server.address)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        click.echo()
    finally:
        server.server_close()
