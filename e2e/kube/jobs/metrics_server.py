"""Serves a metrics page of test_forged_metrics.py until it is stopped."""

import http.server
import pathlib
import signal
import sys

SAMPLES, NAMES = 200_000, 50
FLOODS = {
    "many": lambda: "".join(f'eidolon_agent_many_{n % NAMES}{{number="{n}"}} 1\n' for n in range(SAMPLES)),
    "long": lambda: 'eidolon_agent_long{text="%s"} 1\n' % ("x" * 100_000),
}
name = sys.argv[1]
page = (pathlib.Path("/page", name).read_text() + FLOODS.get(name, str)()).encode()


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(page)


signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
http.server.ThreadingHTTPServer(("", 9464), Page).serve_forever()
