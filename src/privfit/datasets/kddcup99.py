"""KDD Cup 1999: which network connections are part of a denial-of-service attack."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import vstack
from sklearn.utils import Bunch

from privfit.datasets.dataset import CC_BY, Encoding, dataset, encode
from privfit.datasets.sources import Source, at_hand, locate, reading
from privfit.schema import Categorical, Label, Numeric, Schema

_OFFICIAL = "http://kdd.ics.uci.edu/databases/kddcup99/"
# The second addresses, and the hashes, are from scikit-learn's fetch_kddcup99.
SOURCES = {
    "10%": Source(
        file="kddcup.data_10_percent.gz",
        sha256="8045aca0d84e70e622d1148d7df782496f6333bf6eb979a1b0837c42a9fd9561",
        urls=(f"{_OFFICIAL}kddcup.data_10_percent.gz", "https://ndownloader.figshare.com/files/5976042"),
    ),
    "full": Source(
        file="kddcup.data.gz",
        sha256="3b6c942aa0356c0ca35b7b595a26c89d343652c9db428893e7494f837b274292",
        urls=(f"{_OFFICIAL}kddcup.data.gz", "https://ndownloader.figshare.com/files/5976045"),
    ),
}


def _listed(text: str) -> list[str]:
    """Return the names in a text that lists them as the documentation does."""
    return text.split()


# Columns are those of kddcup.names in the order of the file.
_COLUMNS = _listed(
    """
    duration protocol_type service flag src_bytes dst_bytes land wrong_fragment urgent hot num_failed_logins
    logged_in num_compromised root_shell su_attempted num_root num_file_creations num_shells num_access_files
    num_outbound_cmds is_host_login is_guest_login count srv_count serror_rate srv_serror_rate rerror_rate
    srv_rerror_rate same_srv_rate diff_srv_rate srv_diff_host_rate dst_host_count dst_host_srv_count
    dst_host_same_srv_rate dst_host_diff_srv_rate dst_host_same_src_port_rate dst_host_srv_diff_host_rate
    dst_host_serror_rate dst_host_srv_serror_rate dst_host_rerror_rate dst_host_srv_rerror_rate
    """
)

# The categories of the full file, as published; four services (aol, harvest, http_2784 and http_8001) are
# not in the 10% file.
_CATEGORIES = {
    "protocol_type": _listed("icmp tcp udp"),
    "service": _listed(
        """
        IRC X11 Z39_50 aol auth bgp courier csnet_ns ctf daytime discard domain domain_u echo eco_i ecr_i efs
        exec finger ftp ftp_data gopher harvest hostnames http http_2784 http_443 http_8001 imap4 iso_tsap
        klogin kshell ldap link login mtp name netbios_dgm netbios_ns netbios_ssn netstat nnsp nntp ntp_u
        other pm_dump pop_2 pop_3 printer private red_i remote_job rje shell smtp sql_net ssh sunrpc supdup
        systat telnet tftp_u tim_i time urh_i urp_i uucp uucp_path vmnet whois
        """
    ),
    "flag": _listed("OTH REJ RSTO RSTOS0 RSTR S0 S1 S2 S3 SF SH"),
}

# Rates and yes-or-no columns are at most 1. These are the published largest values of all other columns in
# the full file. The paper rescales by them, so they are declared public here, too.
_LARGEST = {
    **{"duration": 58_329, "src_bytes": 1_379_963_888, "dst_bytes": 1_309_937_401, "wrong_fragment": 3},
    **{"urgent": 14, "hot": 101, "num_failed_logins": 5, "num_compromised": 7_479, "su_attempted": 2},
    **{"num_root": 7_468, "num_file_creations": 100, "num_shells": 5, "num_access_files": 9},
    **{"count": 511, "srv_count": 511, "dst_host_count": 255, "dst_host_srv_count": 255},
}
# A few connections are a million times larger than most. Divided by the largest value, most would be nearly
# zero. So the schema of this package has smaller bounds: an hour, the largest IP datagram, ten events of any
# kind within a connection. These are choices, not facts about the records. Values beyond them are clipped.
_SENSIBLE = _LARGEST | {
    **{"duration": 3_600, "src_bytes": 65_535, "dst_bytes": 65_535, "urgent": 10, "hot": 10},
    **{"num_compromised": 10, "num_root": 10, "num_file_creations": 10},
}

_LABEL = Label("attack", ("other", "dos"))
# The kinds of connections in the training files, which write them with a full stop.
_OUTCOMES = {
    **dict.fromkeys(_listed("back. land. neptune. pod. smurf. teardrop."), "dos"),
    **dict.fromkeys(
        _listed(
            """
            normal. buffer_overflow. ftp_write. guess_passwd. imap. ipsweep. loadmodule. multihop. nmap. perl.
            phf. portsweep. rootkit. satan. spy. warezclient. warezmaster.
            """
        ),
        "other",
    ),
}


def _schema(highest: dict[str, int], left_out: int) -> Schema:
    return Schema(
        columns=[
            Categorical(name, _CATEGORIES[name][left_out:])
            if name in _CATEGORIES
            else Numeric(name, 0, highest.get(name, 1))
            for name in _COLUMNS
        ],
        label=_LABEL,
    )


KDDCUP99_SCHEMA = _schema(_SENSIBLE, left_out=0)
# The paper counts 120 columns with the intercept: 38 numbers, and indicators for the 3 protocols, 70 services
# and 11 flags of the full file, without one of each, as in the authors' BANK.dat. It is not published which
# categories they left out. Here it is the first of each column.
KDDCUP99_PAPER_SCHEMA = _schema(_LARGEST, left_out=1)

_DESCRIPTION = """KDD Cup 1999

Connections in a simulated military network, 41 attributes each, 4,898,431 in the full file and 494,021 in the
10% file; the task is to say whether a connection is part of a denial-of-service attack. Authors: Salvatore
Stolfo, Wei Fan, Wenke Lee, Andreas Prodromidis and Philip Chan, 1999.
Source: UCI Machine Learning Repository, https://doi.org/10.24432/C51C7N. Licence: CC BY 4.0.
"""

_CHUNK = 1 << 16
# One character more than the longest known text, so that a longer text is not cut to a known one.
_ROW = np.dtype(
    [(name, f"U{1 + max(map(len, _CATEGORIES[name]))}" if name in _CATEGORIES else "f8") for name in _COLUMNS]
    + [(_LABEL.name, f"U{1 + max(map(len, _OUTCOMES))}")]
)


def subset_at_hand(data_dir: str | os.PathLike[str] | None = None) -> Literal["10%", "full"]:
    """Return "full" if the full file is on this machine; it is too large to be downloaded unasked."""
    return "10%" if at_hand(SOURCES["full"], data_dir) is None else "full"


def load_kddcup99(
    *, encoding: Encoding, subset: Literal["10%", "full"], data_dir: str | os.PathLike[str] | None
) -> Bunch:
    """Load KDD Cup 1999, reading and encoding a chunk of lines at a time."""
    schema = KDDCUP99_PAPER_SCHEMA if encoding == "paper" else KDDCUP99_SCHEMA
    parts, targets = [], []
    for rows, target in _chunks(locate(SOURCES[subset], data_dir)):
        parts.append(encode({name: rows[name] for name in _COLUMNS}, schema))
        targets.append(target)
    return dataset(
        vstack(parts, format="csr"),
        np.concatenate(targets),
        schema=schema,
        licence=CC_BY,
        description=_DESCRIPTION,
    )


def _chunks(path: Path) -> Iterator[tuple[NDArray[Any], NDArray[np.str_]]]:
    seen = 0
    with reading(path) as file:
        while lines := list(islice(file, _CHUNK)):
            try:
                rows = np.loadtxt(lines, dtype=_ROW, delimiter=",", comments=None, ndmin=1)
                target = np.array([_OUTCOMES[label] for label in rows[_LABEL.name].tolist()])
            except (ValueError, KeyError):
                # the original error is dropped, because it quotes a record
                raise ValueError(
                    f"{path} has, in lines {seen + 1:,} to {seen + len(lines):,}, a record that is not 41 "
                    "attributes of KDD Cup 1999 and a known kind of connection, separated by commas."
                ) from None
            yield rows, target
            seen += len(lines)
    if not seen:
        raise ValueError(f"{path} has no records.")
