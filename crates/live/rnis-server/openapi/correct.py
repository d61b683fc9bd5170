#!/usr/bin/env python3
"""Corrects the known faults of ETSI's OpenAPI document of MEC 012, as README.md lists them.

Reads mec012-rni-2.2.1.yaml, writes mec012-rni-2.2.1-corrected.yaml, or with --check shows by its
exit code whether the file that is there is the one that would be written. Needs PyYAML.
"""
import copy
import pathlib
import sys

import yaml

HERE = pathlib.Path(__file__).parent
GIVEN = HERE / "mec012-rni-2.2.1.yaml"
CORRECTED = HERE / "mec012-rni-2.2.1-corrected.yaml"
HEADER = """\
# ETSI GS MEC 012 Radio Network Information API, version 2.2.1, by ETSI (BSD-3-Clause, see LICENSE),
# with the corrections that README.md lists, made by correct.py.
"""
SCHEMA = "#/components/schemas/"
TYPES = [
    "CellChange", "RabEst", "RabMod", "RabRel", "MeasRepUe", "NrMeasRepUe", "MeasTa", "CaReconf",
    "S1Bearer",
]


def drop_types_beside_references(node):
    """In OpenAPI 3.1 what stands beside a reference holds too: a text that is an object is none."""
    if isinstance(node, dict):
        if "$ref" in node:
            node.pop("type", None)
        for value in node.values():
            drop_types_beside_references(value)
    elif isinstance(node, list):
        for value in node:
            drop_types_beside_references(value)


def reference(name):
    return {"$ref": SCHEMA + name}


def content(schema):
    return {"application/json": {"schema": schema}}


def subscriptions(document):
    """All nine types where the document names one, and what the text demands of each."""
    schemas = document["components"]["schemas"]
    inline = reference("InlineSubscription")
    schemas["InlineSubscription"] = {
        "description": "A subscription; the service also takes it wrapped in an object with one "
        "property of its type's name, and then answers in the same form.",
        "oneOf": [reference(f"{name}Subscription") for name in TYPES],
    }
    for name in TYPES:
        schema = schemas[f"{name}Subscription"]
        schema["properties"]["subscriptionType"]["const"] = f"{name}Subscription"
        schema["properties"]["callbackReference"]["pattern"] = "^https?://"
        schema["anyOf"] = [
            {"required": ["callbackReference"]},
            {
                "required": ["websockNotifConfig"],
                "properties": {
                    "websockNotifConfig": {
                        "required": ["requestWebsocketUri"],
                        "properties": {"requestWebsocketUri": {"const": True}},
                    }
                },
            },
        ]
    states = schemas["FilterCriteriaAssocHo"]["properties"]["hoStatus"]["items"]
    states["enum"] = [1, 2, 3, 4, 5]
    changes = schemas["S1BearerSubscription"]["properties"]["eventType"]["items"]
    changes["enum"] = [0, 1, 2, 3]
    collection = document["paths"]["/subscriptions"]
    single = document["paths"]["/subscriptions/{subscriptionId}"]
    for operation, answer in [
        (collection["post"], "201"), (single["get"], "200"), (single["put"], "200"),
    ]:
        operation["responses"][answer]["content"] = content(copy.deepcopy(inline))
        if "requestBody" in operation:
            operation["requestBody"]["required"] = True
            operation["requestBody"]["content"] = content(copy.deepcopy(inline))
    single["put"]["responses"]["415"] = {"$ref": "#/components/responses/415"}
    single["delete"]["responses"]["406"] = {"$ref": "#/components/responses/406"}
    single["delete"]["responses"]["412"] = {"$ref": "#/components/responses/412"}


def notifications(document):
    """The callback is where the field names it, and what comes there are notifications."""
    schemas = document["components"]["schemas"]
    schemas["InlineNotification"] = {
        "oneOf": [
            reference(f"{name}Notification") for name in [*TYPES, "Expiry", "Test"]
        ],
    }
    for name in [*TYPES, "Expiry", "Test"]:
        schema = schemas[f"{name}Notification"]
        schema["properties"]["notificationType"]["const"] = f"{name}Notification"
    schemas["S1BearerNotification"]["properties"]["s1Event"]["enum"] = ["1", "2", "3"]
    post = document["paths"]["/subscriptions"]["post"]
    callback = next(iter(post["callbacks"]["notification"].values()))
    callback["post"]["requestBody"]["content"] = content(reference("InlineNotification"))
    post["callbacks"]["notification"] = {"{$request.body#/callbackReference}": callback}


def names(document):
    """Two properties with a blank in their names, and a parameter that lacks a letter."""
    properties = document["components"]["schemas"]["CellInfo"]["properties"]
    for name in list(properties):
        properties[name.replace(" ", "")] = properties.pop(name)
    parameters = document["components"]["parameters"]
    wrong = "received_randomly_selecte_preambles_low_range_cell"
    right = "received_randomly_selected_preambles_low_range_cell"
    parameters[f"Query.{wrong.capitalize()}"]["name"] = right


def queries(document):
    """Lists have commas between their values, as their descriptions require."""
    for parameter in document["components"]["parameters"].values():
        schema = parameter["schema"]
        if schema.get("type") == "array":
            parameter["style"] = "form"
            parameter["explode"] = False
            schema["minItems"] = 1
        if parameter["name"] == "subscription_type":
            schema["enum"] = [
                "cell_change", "rab_est", "rab_mod", "rab_rel", "meas_rep_ue", "nr_meas_rep_ue",
                "timing_advance_ue", "ca_reconf", "s1_bearer",
            ]
    for path, operations in document["paths"].items():
        if path.startswith("/queries") or path == "/subscriptions":
            get = operations["get"]
            get["responses"]["414"] = {"$ref": "#/components/responses/414"}


IPV4 = {"type": "string", "format": "ipv4"}
IPV6 = {"type": "string", "format": "ipv6"}
TEID = {"type": "string", "pattern": "^[0-9]{1,9}$"}


def identities(document):
    """Cells, bearers and UEs that there can be: the service refuses what can match nothing.

    An identifier of the reserved type 0 identifies no UE, and restricts nothing.
    """
    schemas = document["components"]["schemas"]
    schemas["CellId"]["pattern"] = "^((0[xX])?[0-9a-fA-F]{1,7}|[01]{28})$"
    schemas["NrCellId"]["pattern"] = "^((0[xX])?[0-9a-fA-F]{1,9}|[01]{36})$"
    ue = schemas["AssociateId"]
    values = {0: {"type": "string"}, 1: IPV4, 2: IPV6, 3: {"anyOf": [IPV4, IPV6]}, 4: TEID}
    ue["anyOf"] = [
        {"properties": {"type": {"const": kind}, "value": copy.deepcopy(value)}}
        for kind, value in values.items()
    ]
    bearer = {"minimum": 0, "maximum": 15}
    schemas["FilterCriteriaQci1"]["properties"]["erabId"].update(bearer)
    schemas["S1BearerSubscriptionCriteria"]["properties"]["erabId"]["items"].update(bearer)
    items = {
        "ue_ipv4_address": IPV4, "ue_ipv6_address": IPV6, "gtp_teid": TEID,
        "nated_ip_address": {"anyOf": [IPV4, IPV6]},
    }
    for parameter in document["components"]["parameters"].values():
        schema = parameter["schema"]
        if parameter["name"] in items:
            schema["items"] = copy.deepcopy(items[parameter["name"]])
        if parameter["name"] == "erab_id":
            schema.get("items", schema).update(bearer)
        if parameter["name"] == "cell_id" and "items" in schema:
            schema["items"] = reference("CellId")


def networks(document):
    time = document["components"]["schemas"]["TimeStamp"]["properties"]
    time["seconds"].update(minimum=0, maximum=2**32 - 1)
    time["nanoSeconds"].update(minimum=0, maximum=999_999_999)
    plmn = document["components"]["schemas"]["Plmn"]["properties"]
    plmn["mcc"]["pattern"] = plmn["mnc"]["pattern"] = "^[0-9]*$"
    bearer = document["components"]["schemas"]["S1BearerInfo"]
    bearer.pop("minItems", None)
    bearer["properties"]["timeStamp"] = reference("TimeStamp")
    bearer["properties"]["s1UeInfo"] = {"type": "array", "items": reference("S1UeInfo")}


def security(document):
    """OAuth 2.0 client credentials, as MEC 009 requires it; the document has none."""
    flow = {"tokenUrl": "/oauth2/token", "scopes": {"query": "queries", "subscribe": "subscriptions"}}
    document["components"]["securitySchemes"] = {
        "OAuth2": {"type": "oauth2", "flows": {"clientCredentials": flow}}
    }
    document["security"] = [{"OAuth2": []}]
    document["servers"] = [{"url": "/rni/v2"}]


def main():
    document = yaml.safe_load(GIVEN.read_text())
    drop_types_beside_references(document)
    for correct in (subscriptions, notifications, names, queries, identities, networks, security):
        correct(document)
    dump = yaml.safe_dump(document, sort_keys=False, width=100, allow_unicode=True)
    text = HEADER + dump
    if "--check" in sys.argv[1:]:
        sys.exit(0 if CORRECTED.read_text() == text else "the corrected document is another")
    CORRECTED.write_text(text)


if __name__ == "__main__":
    main()
