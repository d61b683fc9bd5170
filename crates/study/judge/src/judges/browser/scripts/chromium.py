"""Chromium for the judges: headless, driven over its debugging pipe by Playwright."""

from __future__ import annotations

from playwright.sync_api import Browser, Playwright

# Chromium takes the last of several `--disable-features`, so that this list is all that is disabled.
# Host candidates of WebRTC would otherwise be names of mDNS, which nobody resolves in a lab.
DISABLED = (
    "WebRtcHideLocalIpsWithMdns",
    "HttpsUpgrades",
    "MediaRouter",
    "DialMediaRouteProvider",
    "OptimizationHints",
    "PaintHolding",
    "Translate",
)


def launch(playwright: Playwright, program: str, *arguments: str) -> Browser:
    """Starts it, without a sandbox, which root cannot have; its profile is below TMPDIR."""
    return playwright.chromium.launch(
        executable_path=program,
        chromium_sandbox=False,
        args=["--disable-features=" + ",".join(DISABLED), "--disable-gpu", *arguments],
    )
