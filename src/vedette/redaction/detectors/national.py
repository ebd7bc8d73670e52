"""Personal numbers of other countries, where a check digit or a strict form makes them safe.

Those with a single check digit and a common form need their name before them, or their usual
punctuation.
"""

from __future__ import annotations

from stdnum.br import cnpj, cpf
from stdnum.ch import ssn as ch_ssn
from stdnum.de import idnr
from stdnum.es import dni
from stdnum.fr import nir
from stdnum.gb import nhs
from stdnum.in_ import aadhaar
from stdnum.kr import rrn
from stdnum.nl import bsn
from stdnum.pl import pesel
from stdnum.se import personnummer
from stdnum.us import ssn

from vedette.redaction.context import words

from .numbers import GAP, NumberRule

_SSN = words("ssn", "social security", "soc sec")
_NHS = words("nhs", "health service", "patient (?:number|no)")
_CPF = words("cpf")
_CNPJ = words("cnpj")
_IDNR = words("steuer[a-z-]*", "idnr", "id-nr", "tax id", "tin")
_AADHAAR = words("aadhaa?r", "uidai")
_BSN = words("bsn", "burgerservicenummer", "sofinummer", "sofi-nummer")
_PESEL = words("pesel")

NATIONAL = (
    NumberRule(
        "us_ssn",
        "us-ssn",
        9,
        rf"[0-9]{{3}}{GAP}[0-9]{{2}}{GAP}[0-9]{{4}}",
        ssn.is_valid,
        0.85,
        names=_SSN,
        plain=r"[0-9]{3}([- ])[0-9]{2}\1[0-9]{4}",
    ),
    NumberRule(
        "uk_nhs",
        "uk-nhs",
        10,
        rf"[0-9]{{3}}{GAP}[0-9]{{3}}{GAP}[0-9]{{4}}",
        nhs.is_valid,
        0.7,
        names=_NHS,
        plain=r"[0-9]{3} [0-9]{3} [0-9]{4}",
    ),
    NumberRule("es_nif", "es-dni", 8, r"[0-9]{8}[ -]?[A-Z]", dni.is_valid, 0.9),
    NumberRule(
        "fr_nir",
        "fr-nir",
        15,
        rf"[12](?:{GAP}[0-9]){{14}}",
        nir.is_valid,
    ),
    NumberRule(
        "br_cpf",
        "br-cpf",
        11,
        r"[0-9]{3}\.?[0-9]{3}\.?[0-9]{3}-?[0-9]{2}",
        cpf.is_valid,
        names=_CPF,
        plain=r"[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}",
    ),
    NumberRule(
        "br_cnpj",
        "br-cnpj",
        14,
        r"[0-9]{2}\.?[0-9]{3}\.?[0-9]{3}/?[0-9]{4}-?[0-9]{2}",
        cnpj.is_valid,
        names=_CNPJ,
        plain=r"[0-9]{2}\.[0-9]{3}\.[0-9]{3}/[0-9]{4}-[0-9]{2}",
    ),
    NumberRule(
        "ch_ahv", "ch-ahv", 13, r"756[. ]?[0-9]{4}[. ]?[0-9]{4}[. ]?[0-9]{2}", ch_ssn.is_valid
    ),
    NumberRule(
        "de_idnr",
        "de-idnr",
        11,
        r"[0-9]{2} ?[0-9]{3} ?[0-9]{3} ?[0-9]{3}",
        idnr.is_valid,
        0.8,
        names=_IDNR,
        plain=r"[0-9]{2} [0-9]{3} [0-9]{3} [0-9]{3}",
    ),
    NumberRule(
        "in_aadhaar",
        "in-aadhaar",
        12,
        rf"[2-9][0-9]{{3}}{GAP}[0-9]{{4}}{GAP}[0-9]{{4}}",
        aadhaar.is_valid,
        0.8,
        names=_AADHAAR,
        plain=r"[0-9]{4}([ -])[0-9]{4}\1[0-9]{4}",
    ),
    NumberRule("kr_rrn", "kr-rrn", 13, r"[0-9]{6}-[0-9]{7}", rrn.is_valid),
    NumberRule(
        "nl_bsn", "nl-bsn", 9, r"[0-9]{4}\.?[0-9]{2}\.?[0-9]{3}", bsn.is_valid, 0.9, names=_BSN
    ),
    NumberRule("pl_pesel", "pl-pesel", 11, r"[0-9]{11}", pesel.is_valid, 0.9, names=_PESEL),
    NumberRule(
        "se_personnummer",
        "se-personnummer",
        10,
        r"(?:19|20)?[0-9]{6}[-+][0-9]{4}",
        personnummer.is_valid,
        0.9,
    ),
)
