#!/usr/bin/env python3
"""Writes the constant tables of crate radio from the CSV files in tests/data.

    python3 crates/core/radio/tools/generate_data.py

The CSV files are the record of facts (3GPP tables, published link-level results); the Rust files in
src/data are made from them and never edited. Tests of the crate compare the two cell by cell.
"""

import csv
import pathlib
import subprocess

CRATE = pathlib.Path(__file__).resolve().parent.parent
CSV = CRATE / "tests" / "data"
OUT = CRATE / "src" / "data"

# BLER samples this close to 0 or 1 say only that the curve has ended; one is kept on each side.
SATURATED = 1e-4


def rows(name):
    with open(CSV / f"{name}.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write(name, what, body):
    path = OUT / f"{name}.rs"
    head = f"//! {what}\n//!\n//! Written by `python3 crates/core/radio/tools/generate_data.py`; do not edit.\n\n"
    path.write_text(head + body, encoding="utf-8")
    subprocess.run(["rustfmt", "--edition", "2024", "--config-path", CRATE.parent.parent, path], check=True)


def static(doc, name, kind, items):
    return f"/// {doc}\npub(crate) static {name}: {kind} = [{', '.join(items)}];\n\n"


def pairs(table, name, first, second, scale=1):
    picked = [r for r in rows(name) if r["table"] == table and r[second] not in ("", "reserved")]
    return [f"({r[first]}, {round(float(r[second]) * scale)})" for r in picked]


def lte():
    tbs = ["[" + ", ".join(list(r.values())[1:]) + "]" for r in rows("lte_tbs")]
    body = static("TS 36.213 Table 7.1.7.2.1-1: bits by I_TBS and N_PRB - 1.", "TBS_BITS", "[[u32; 110]; 34]", tbs)
    for name, table, doc in [
        ("MCS_QAM64", "7.1.7.1-1", "TS 36.213 Table 7.1.7.1-1: (Qm, I_TBS) by MCS."),
        ("MCS_QAM256", "7.1.7.1-1A", "TS 36.213 Table 7.1.7.1-1A: (Qm, I_TBS) by MCS."),
        ("MCS_PUSCH", "8.6.1-1", "TS 36.213 Table 8.6.1-1 (PUSCH): (Qm, I_TBS) by MCS."),
    ]:
        items = pairs(table, "lte_mcs_itbs", "qm", "i_tbs")
        body += static(doc, name, f"[(u8, u8); {len(items)}]", items)
    for name, table in [("CQI_QAM64", "7.2.3-1"), ("CQI_QAM256", "7.2.3-2")]:
        items = pairs(table, "lte_cqi", "qm", "rate_x1024")
        body += static(f"TS 36.213 Table {table}: (Qm, rate x 1024) by CQI - 1.", name, "[(u8, u16); 15]", items)
    write("lte", "LTE tables of TS 36.213: transport block sizes (v12.13.0), MCS and CQI.", body)


def nr():
    body = "use crate::FrequencyRange;\n\n"
    names = [("QAM64", "1", "2"), ("QAM256", "2", "3"), ("LOW_SE", "3", "4")]
    for name, mcs, _ in names:
        items = pairs(f"5.1.3.1-{mcs}", "nr_mcs", "qm", "rate_x1024", scale=10)
        doc = f"TS 38.214 Table 5.1.3.1-{mcs}: (Qm, rate x 10240) by MCS."
        body += static(doc, f"MCS_{name}", f"[(u8, u16); {len(items)}]", items)
    for name, _, cqi in names:
        items = pairs(f"5.2.2.1-{cqi}", "nr_cqi", "qm", "rate_x1024")
        doc = f"TS 38.214 Table 5.2.2.1-{cqi}: (Qm, rate x 1024) by CQI - 1."
        body += static(doc, f"CQI_{name}", "[(u8, u16); 15]", items)
    items = [r["tbs_bits"] for r in rows("nr_tbs_small")]
    doc = "TS 38.214 Table 5.1.3.2-1: transport block sizes up to 3824 bits."
    body += static(doc, "SMALL_TBS_BITS", f"[u16; {len(items)}]", items)
    ranges = {"FR1": "Fr1", "FR2-1": "Fr2_1", "FR2-2": "Fr2_2"}
    items = [f"(FrequencyRange::{ranges[r['range']]}, {r['bw_mhz']}, {r['scs_khz']}, {r['n_rb']})" for r in rows("nr_prb")]
    doc = "TS 38.101-1 and 38.101-2 Table 5.3.2-1: (range, bandwidth in MHz, SCS in kHz, N_RB)."
    body += static(doc, "MAX_PRB", f"[(FrequencyRange, u16, u16, u16); {len(items)}]", items)
    write("nr", "NR tables of TS 38.214 (Rel-15) and TS 38.101 (Rel-17/18).", body)


def policies():
    kinds = {"OAI_LTE": "OaiLte", "ns3_LteAmc": "Ns3Lte", "OAI_NR": "OaiNr", "srsRAN_4G_NR": "Srsran4gNr",
             "srsRAN_Project": "SrsranProject", "5G-LENA_NrAmc": "Lena5g"}
    tables = {"7.2.3-1": "LteQam64", "7.1.7.1-1": "LteQam64", "5.2.2.1-2": "NrQam64", "5.2.2.1-3": "NrQam256",
              "5.2.2.1-4": "NrLowSe", "5.1.3.1-1": "NrQam64", "5.1.3.1-2": "NrQam256", "5.1.3.1-3": "NrLowSe"}
    items = []
    for r in rows("cqi_to_mcs"):
        if r["source"] not in kinds:
            continue  # srsRAN 4G LTE is a search, see cqi_policy.rs; its rows are test vectors
        mcs = ", ".join(r[f"cqi_{i}"] for i in range(1, 16))
        zero = f"Some({r['cqi_0']})" if r["cqi_0"] else "None"
        items.append(f"Row {{ policy: CqiToMcs::{kinds[r['source']]}, cqi_table: CqiTable::{tables[r['cqi_table']]}, "
                     f"mcs_table: McsTable::{tables[r['mcs_table']]}, cqi_zero: {zero}, mcs: [{mcs}] }}")
    body = "use crate::cqi_policy::{CqiToMcs, Row};\nuse crate::{CqiTable, McsTable};\n\n"
    body += static("One row for each pair of tables that a policy covers.", "ROWS", f"[Row; {len(items)}]", items)
    write("policies", "CQI to MCS as base station software does it: policies of implementations, not of 3GPP.", body)


def bler():
    fits = {(r["source"], r["mcs_table"], r["mcs"]): r for r in rows("bler_fit")}
    curves = {}
    for r in rows("bler_curves"):
        key = (r["source"], r["mcs_table"], r["mcs"])
        curves.setdefault(key, []).append((r["snr_db"], r["bler"]))
    files = {"bler_lte": ("LTE BLER curves of ns-3 and OAI", ["ns3_LteMiErrorModel", "OAI_dlsim_LTE"]),
             "bler_oai_nr": ("NR BLER curves of OAI", ["OAI_nr_dlsim"]),
             "bler_sionna": ("NR BLER curves of Sionna", ["Sionna_sys_PDSCH"]),
             "bler_fitted": ("NR BLER curves of 5G-LENA and NeoRadium", ["5G-LENA_EESM", "NeoRadium_AWGN"])}
    names = {"ns3_LteMiErrorModel": "NS3", "OAI_dlsim_LTE": "OAI_LTE", "OAI_nr_dlsim": "OAI_NR", "5G-LENA_EESM": "LENA",
             "Sionna_sys_PDSCH": "SIONNA", "NeoRadium_AWGN": "NEORADIUM"}
    suffix = {"7.1.7.1-1": "QAM64", "5.1.3.1-1": "QAM64", "5.1.3.1-2": "QAM256"}
    for file, (what, sources) in files.items():
        body = "use crate::bler::Published;\n\n"
        for source in sources:
            for table in sorted({k[1] for k in curves if k[0] == source}):
                items = [published(k, points, fits[k], file == "bler_fitted")
                         for k, points in curves.items() if k[:2] == (source, table)]
                doc = f"{source}, MCS table {table}."
                body += static(doc, f"{names[source]}_{suffix[table]}", f"[Published; {len(items)}]", items)
        write(file, f"{what}: first transmission, AWGN, 1 layer.", body)


def published(key, points, fit, fit_only):
    """One curve. The samples of 5G-LENA and NeoRadium in the CSV are a linear resampling of their
    native points, which the fit was made on: there only the fit is kept."""
    points = [] if fit_only else trimmed(sorted(points, key=lambda p: float(p[0])))
    snr = ", ".join(repr(float(p[0])) for p in points)
    rate = ", ".join(repr(float(p[1])) for p in points)
    mu, sigma = fit["probit_mu_db"], fit["probit_sigma_db"]
    probit = f"Some(({float(mu)}, {float(sigma)}))" if mu else "None"
    return f"Published {{ mcs: {key[2]}, probit: {probit}, snr_db: &[{snr}], bler: &[{rate}] }}"


def trimmed(points):
    ones = [i for i, p in enumerate(points) if float(p[1]) > 1 - SATURATED]
    start = ones[-1] if ones and ones == list(range(len(ones))) else 0
    zeros = [i for i, p in enumerate(points) if float(p[1]) < SATURATED]
    end = zeros[0] + 1 if zeros and zeros == list(range(zeros[0], len(points))) else len(points)
    return points[start:end]


OUT.mkdir(exist_ok=True)
lte()
nr()
policies()
bler()
