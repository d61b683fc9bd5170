//! Keys of the radio cell.

use super::Fallback::{Absent, ByRat, Preset, Required, Value};
use super::Kind::{
    BitRate, Capacity, Choice, Count, Decibel, Duration, Flag, Frequency, List, Number, Power,
    Table, Text,
};
use super::Range::{Any, Positive, Within};
use super::top::{FASTEST, MAX_TIME};
use super::{Key, Section, key};
use ran::{Combining, Grants, SchedulerKind, SubBands, UplinkLink};

/// What decides on MCS and errors of the uplink.
const UPLINK_LINKS: &[&str] = &["fixed-mcs", "budget"];

/// Policies from CQI to MCS, as base stations have them.
pub(super) const POLICY: Key = key(
    "policy",
    Text,
    ByRat {
        lte: "oai-lte",
        nr: "oai-nr",
    },
    Any,
    "How the base station goes from CQI to MCS: `oai-lte`, `ns3-lte`, `srsran-lte-25prb-cfi1` (any \
     number of PRBs and control symbols), `oai-nr`, `srsran-4g-nr`, `srsran-project`, `5g-lena`.",
);

pub(super) static SECTIONS: &[Section] = &[
    Section {
        path: "cell",
        kind: None,
        meaning: "A radio cell, the bottleneck.",
        keys: &[
            key(
                "name",
                Text,
                Absent("required of each of several cells"),
                Any,
                "Its name, where there are several (`[[cell]]`).",
            ),
            key(
                "activity",
                Number,
                Value("0.5"),
                Within(0.0, 1.0),
                "Where there are several: of its power, the part that disturbs the other cells on its carrier.",
            ),
            key(
                "trace",
                Table,
                Absent("places"),
                Any,
                "Where there are several: what it is to each user, as recorded.",
            ),
            key(
                "off-at",
                Duration,
                Absent("never"),
                Within(0.0, MAX_TIME),
                "Where there are several: from then on it sends nothing; its users lose it, and it disturbs no other.",
            ),
            key(
                "on-at",
                Duration,
                Absent("never"),
                Within(0.0, MAX_TIME),
                "From then on it sends again; after `off-at`.",
            ),
            key(
                "id",
                Count,
                Value("1"),
                Within(0.0, 4_294_967_295.0),
                "Identity in reports; of several cells, without it: their number.",
            ),
            key(
                "rat",
                Choice(&["lte", "nr", "trace"]),
                Required,
                Any,
                "Radio access technology; `trace`: what most of the users' traces was recorded on, LTE if \
                 they do not state it.",
            ),
            key(
                "lte",
                Table,
                Absent("none"),
                Any,
                "Keys of `[cell]` for an LTE cell, where `[cell]` itself does not give them.",
            ),
            key("nr", Table, Absent("none"), Any, "The same for an NR cell."),
            key(
                "numerology",
                Count,
                ByRat { lte: "0", nr: "1" },
                Within(0.0, 4.0),
                "NR numerology mu: 15 kHz x 2^mu, slots of 1 ms / 2^mu.",
            ),
            key(
                "frequency",
                Frequency,
                Absent("any range"),
                Within(4.0e8, 7.1e10),
                "Carrier: decides between the bandwidth tables of FR1 and FR2 (without it, FR1 where that \
                 has the bandwidth); path loss and fading of moving channels follow from it.",
            ),
            key(
                "bandwidth",
                Frequency,
                Absent("`n-prb` gives it"),
                Within(1.0e6, 2.0e9),
                "Channel bandwidth; TS 36.101 5.6 or TS 38.101 5.3.2 gives how many PRBs it has.",
            ),
            key(
                "n-prb",
                Count,
                Absent("all that the bandwidth has"),
                Within(1.0, 275.0),
                "PRBs of the downlink carrier.",
            ),
            key(
                "mcs-table",
                Choice(&["qam64", "qam256", "low-se"]),
                Value("qam64"),
                Any,
                "MCS table: TS 36.213 7.1.7.1-1 and -1A, TS 38.214 5.1.3.1-1 to -3.",
            ),
            key(
                "layers",
                Count,
                Value("1"),
                Within(1.0, 8.0),
                "Spatial layers (LTE: 1).",
            ),
            key(
                "data-re-per-prb",
                Count,
                Absent("12 x `symbols` - `dmrs-re`, at most 156"),
                Within(1.0, 156.0),
                "NR: resource elements of a PRB and slot that carry data.",
            ),
            key(
                "symbols",
                Count,
                Value("13"),
                Within(1.0, 14.0),
                "NR: data symbols of a slot.",
            ),
            key(
                "dmrs-re",
                Count,
                Value("12"),
                Within(0.0, 48.0),
                "NR: resource elements of a PRB taken by reference signals and overhead.",
            ),
            key(
                "scheduler",
                Choice(&SchedulerKind::NAMES),
                Value("proportional-fair"),
                Any,
                "How PRBs are divided between users.",
            ),
            key(
                "pf-time-constant",
                Duration,
                Value("100 ms"),
                Within(1e-3, 1000.0),
                "Proportional fair: forgetting time of the average rate.",
            ),
            key(
                "sub-bands",
                Choice(&SubBands::NAMES),
                Value("none"),
                Any,
                "Whether the downlink is scheduled by groups of PRBs (TS 36.213 Table 7.1.6.1-1, TS 38.214 Table \
                 5.1.2.2.1-1), each with the CQI and SINR that the fading of a moving channel gives it, and which MCS a \
                 block on several groups has: that of the `mean` of their CQIs' efficiencies, or of the `worst` CQI, as \
                 in ns-3.",
            ),
            key(
                "tdd-pattern",
                Text,
                Value(""),
                Any,
                "TDD slots as `D`, `U` and `S`, e.g. `DDDSU`; empty: FDD.",
            ),
            key(
                "bler-family",
                Choice(&radio::BlerFamily::NAMES),
                Value("none"),
                Any,
                "Link-level curves for the block error rate at a known SINR.",
            ),
            key(
                "downlink-processing",
                Duration,
                Preset {
                    lte: "1 ms",
                    nr: "one slot",
                },
                Within(0.0, 1.0),
                "From a packet's arrival at the cell to the earliest slot that may carry it.",
            ),
            key(
                "receive-processing",
                Duration,
                Preset {
                    lte: "3 ms",
                    nr: "one slot",
                },
                Within(0.0, 1.0),
                "From the end of a slot to the delivery of what it carried.",
            ),
            key(
                "harq-feedback-error",
                Number,
                Value("0"),
                Within(0.0, 1.0),
                "Probability that a failed block is taken for received, and left to RLC.",
            ),
            key(
                "n3-rate",
                BitRate,
                Absent("no limit"),
                Within(1.0, FASTEST),
                "Rate of the interface into the cell (N3, S1).",
            ),
            key(
                "n3-buffer",
                Capacity,
                Value("unlimited"),
                Positive,
                "Room before that interface, where it has a rate; what finds none is dropped.",
            ),
            key(
                "f1-u",
                Flag,
                Value("false"),
                Any,
                "Lab alone: the base station is in two parts, and packets pass between them on a wire (GTP-U with NR-U), off which \
                 `brimful rnis` reads radio reports, the proxy's; not with `n3-rate` or `[cell.queues]`; of several cells all or none.",
            ),
            key(
                "n3",
                Flag,
                Value("false"),
                Any,
                "Lab alone: between core and base station is a wire on which packets pass as GTP-U with the PDU Session Container; not \
                 with `n3-rate` or `[cell.queues]`; of several cells all or none.",
            ),
            key(
                "queues",
                Table,
                Absent("drop-tail RLC buffers"),
                Any,
                "Queue management of the downlink.",
            ),
            key("harq", Table, Absent("its defaults"), Any, "Hybrid ARQ."),
            key(
                "uplink",
                Table,
                Absent("its defaults"),
                Any,
                "The way back.",
            ),
            key(
                "background",
                Table,
                Absent("no load"),
                Any,
                "Load by others.",
            ),
            key(
                "site",
                Table,
                Absent("its defaults"),
                Any,
                "The base station's antenna, for moving channels.",
            ),
            key(
                "building",
                List("tables"),
                Absent("none"),
                Any,
                "Buildings, `[[cell.building]]`, for moving channels.",
            ),
            key(
                "building-effect",
                Choice(radio::moving::BuildingEffect::NAMES),
                Absent("`strongest`; `diffraction` with a path loss that has no NLOS"),
                Any,
                "What a building in the way does: its diffraction loss is added; path loss and \
                 shadowing become those of NLOS; or the stronger signal of these two arrives.",
            ),
            key(
                "blocker",
                List("tables"),
                Absent("none"),
                Any,
                "People and vehicles in the street, `[[cell.blocker]]`, for moving channels.",
            ),
            key(
                "interferer",
                Table,
                Absent("none"),
                Any,
                "An interferer, for moving channels.",
            ),
        ],
    },
    Section {
        path: "cell.harq",
        kind: None,
        meaning: "Hybrid ARQ (TS 36.321 5.3.2, TS 38.321 5.3.2).",
        keys: &[
            key(
                "processes",
                Count,
                Preset { lte: "8", nr: "16" },
                Within(1.0, 32.0),
                "Stop-and-wait processes of each user.",
            ),
            key(
                "round-trip-slots",
                Count,
                Preset { lte: "8", nr: "8" },
                Within(1.0, 1000.0),
                "Slots from a transmission to its earliest retransmission.",
            ),
            key(
                "max-transmissions",
                Count,
                Preset { lte: "4", nr: "4" },
                Within(1.0, 32.0),
                "Most transmissions of a block, the first included.",
            ),
            key(
                "combining",
                Choice(&Combining::NAMES),
                Preset {
                    lte: Combining::IncrementalRedundancy.name(),
                    nr: Combining::IncrementalRedundancy.name(),
                },
                Any,
                "How repeated transmissions are combined.",
            ),
        ],
    },
    Section {
        path: "cell.uplink",
        kind: None,
        meaning: "The uplink, for acknowledgements and upstream data.",
        keys: &[
            key(
                "n-prb",
                Count,
                Absent("as the downlink"),
                Within(1.0, 275.0),
                "PRBs of the uplink carrier.",
            ),
            key(
                "mcs",
                Count,
                Preset {
                    lte: "16",
                    nr: "16",
                },
                Within(0.0, 31.0),
                "MCS of uplink blocks, of the downlink's table.",
            ),
            key(
                "trace",
                Table,
                Absent("none: blocks follow `mcs` or `link`"),
                Any,
                "What the uplink carries, as recorded. `--uplink-trace` gives or replaces its file.",
            ),
            key(
                "link",
                Choice(UPLINK_LINKS),
                Value("fixed-mcs"),
                Any,
                "`fixed-mcs`: blocks have the MCS `mcs`, and no errors. `budget`: MCS and errors follow from the SINR \
                 at the base station, by the user's power and path loss; all users need moving channels, whose keys \
                 (policy, times of reports, target) hold for the uplink too.",
            ),
            key(
                "frequency",
                Frequency,
                Absent("the downlink's"),
                Within(4.0e8, 7.1e10),
                "With `budget`: the uplink's carrier. One of its own has fading of its own.",
            ),
            key(
                "transmit-power",
                Power,
                Value("23 dBm"),
                super::moving::POWERS,
                "With `budget`: a user's power, over the PRBs that it is granted (TS 36.101 Table 6.2.2-1: 23 dBm).",
            ),
            key(
                "noise-figure",
                Decibel,
                Value("5 dB"),
                Within(0.0, 100.0),
                "With `budget`: noise figure of the base station's receiver (ns-3: 5 dB).",
            ),
            key(
                "power-control",
                Choice(&["none", "fractional"]),
                Value("none"),
                Any,
                "With `budget`: `none`: a user sends at full power; `fractional`: at min(`transmit-power`, `p0` + 10 log10(2^mu \
                 PRBs) + `alpha` x path loss) (TS 36.213 5.1.1.1, TS 38.213 7.1.1).",
            ),
            key(
                "p0",
                Power,
                Value("-80 dBm"),
                Within(-202.0, 24.0),
                "With `fractional`: the power on one PRB of 180 kHz without the part for the path loss.",
            ),
            key(
                "alpha",
                Number,
                Value("0.8"),
                Within(0.0, 1.0),
                "With `fractional`: the part of the path loss that is made up for.",
            ),
            key(
                "mcs-from",
                Choice(&UplinkLink::MCS_FROM),
                Value("power-headroom"),
                Any,
                "With `budget`: `power-headroom`: a user is granted as few PRBs as carry what it has, or as many as carry \
                 the most, at the MCS of the SINR on these; `ns3`: equally many PRBs for each user, and the MCS that ns-3 \
                 has for the worst of them with the power spread over the whole carrier.",
            ),
            key(
                "sr-period",
                Duration,
                Preset {
                    lte: "10 ms",
                    nr: "10 slots; from numerology 2 on `0 s`",
                },
                Within(0.0, 1.0),
                "Period of scheduling requests; zero: configured grants, none is needed.",
            ),
            key(
                "grant-delay",
                Duration,
                Preset {
                    lte: "8 ms",
                    nr: "4 slots",
                },
                Within(0.0, 1.0),
                "From a scheduling request to the first slot that it may use; with `buffer-status`, from a report to its grants.",
            ),
            key(
                "grants",
                Choice(&Grants::NAMES),
                Value("demand"),
                Any,
                "What grants follow: `demand`: what a user has, at once; `buffer-status`: the buffer status reports in its \
                 blocks (TS 38.321 5.4.5), by levels and as old as `grant-delay`; a request is granted 512 B then.",
            ),
            key(
                "inactivity",
                Duration,
                Preset {
                    lte: "20 ms",
                    nr: "20 ms",
                },
                Within(0.0, 10.0),
                "How long after its last data a user keeps being granted.",
            ),
        ],
    },
    Section {
        path: "cell.background",
        kind: Some("none"),
        meaning: "No load by others.",
        keys: &[],
    },
    Section {
        path: "cell.background",
        kind: Some("constant"),
        meaning: "So many PRBs in every slot.",
        keys: &[key("prb", Count, Required, Within(0.0, 275.0), "PRBs.")],
    },
    Section {
        path: "cell.background",
        kind: Some("random"),
        meaning: "So many PRBs in a random share of the slots.",
        keys: &[
            key(
                "prb",
                Count,
                Required,
                Within(0.0, 275.0),
                "PRBs when active.",
            ),
            key(
                "share",
                Number,
                Required,
                Within(0.0, 1.0),
                "Share of active slots.",
            ),
        ],
    },
    Section {
        path: "cell.background",
        kind: Some("trace"),
        meaning: "What the per-slot trace that drives the first trace-driven user shows others to \
                  use.",
        keys: &[],
    },
];
