"""Downloads a URL of localhost's by HTTP/3 with aioquic as it is, to stdout: URL, certificate to trust."""

import asyncio
import ssl
import sys
from urllib.parse import urlparse

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import QuicEvent


class Client(QuicConnectionProtocol):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.http = H3Connection(self._quic)
        self.body = bytearray()
        self.status = None
        self.done = asyncio.get_running_loop().create_future()

    def request(self, url):
        stream = self._quic.get_next_available_stream_id()
        headers = [
            (b":method", b"GET"),
            (b":scheme", b"https"),
            (b":authority", url.netloc.encode()),
            (b":path", (url.path or "/").encode()),
        ]
        self.http.send_headers(stream, headers, end_stream=True)
        self.transmit()

    def quic_event_received(self, event: QuicEvent):
        for http in self.http.handle_event(event):
            if isinstance(http, HeadersReceived):
                self.status = dict(http.headers)[b":status"].decode()
            elif isinstance(http, DataReceived):
                self.body += http.data
            if getattr(http, "stream_ended", False) and not self.done.done():
                self.done.set_result(None)


async def main(address, certificate):
    url = urlparse(address)
    configuration = QuicConfiguration(is_client=True, alpn_protocols=H3_ALPN)
    configuration.server_name = "localhost"
    configuration.verify_mode = ssl.CERT_REQUIRED
    configuration.load_verify_locations(certificate)
    configuration.max_data = configuration.max_stream_data = 8 << 20
    async with connect(
        url.hostname, url.port, configuration=configuration, create_protocol=Client
    ) as client:
        client.request(url)
        await asyncio.wait_for(client.done, 90)
        if client.status != "200":
            sys.exit(f"status {client.status}")
        sys.stdout.buffer.write(client.body)


asyncio.run(main(*sys.argv[1:]))
