"""The words that synthetic prompts are made of: short, common, and one token each in most vocabularies."""

from __future__ import annotations

from typing import Final

WORDS: Final = tuple(
    """
    able about above act add after again age ago air all alone along also always among and animal answer
    any area arm around art ask away baby back bad bag ball band bank base basic bear beat because bed
    before begin below best better between big bill bird bit black block blue board boat body bone book
    born both bottom box boy break brother brown build burn business but buy call came can car card care
    case cat catch cause cell center certain chair change check child choose church circle city class
    clean clear close cloud coast cold color come common company compare complete condition consider
    control cook cool copy corn correct cost count country course cover create cross current cut dark
    date daughter day deal deep degree describe design detail develop die different direct divide doctor
    dog dollar door double down draw dream drive drop dry during each ear early earth east eat edge
    effect egg eight either electric else end energy engine enough enter equal even event ever every
    exact example except expect eye face fact fair fall family famous far farm fast father feed feel feet
    felt few field fight figure fill final find fine finger finish fire first fish fit five flat floor
    flow flower fly follow food foot for force forest form forward found four free fresh friend from
    front fruit full fun game gas general get girl give glass go gold gone good got grand grass gray
    great green ground group grow guess guide hair half hand happy hard hat have head heart heat heavy
    held help her here high hill him his history hit hold hole home horse hot hour house how human
    hundred ice idea inch include industry interest invent iron job join jump just keep key kind king
    know lake land language large last late law lay lead learn least leave left leg less let letter level
    lie life lift light like line liquid list listen little live log long look lost lot love low machine
    made main major make man many map mark market mass master match material matter may mean measure meat
    men metal method middle might mile milk million mind mine minute miss mix modern moment money month
    moon more most mother motion mount mouth move much music must name nation natural nature near
    necessary neck need never new next night nine noise north nose note nothing now number object ocean
    off offer office often oil old once one only open order organ original other our out over own oxygen
    page pair paper paragraph parent part party pass past path pattern pay people perhaps period person
    phrase picture piece place plain plan plane planet plant play please point poor position possible
    pound power practice prepare present press pretty print problem process product property pull push
    put question quick quiet quite race radio rain raise range rather reach read ready real reason
    receive record red region remember repeat reply represent require rest result rich ride right ring
    rise river road rock roll room root rose round row rule run safe said salt same sand save say scale
    school science score sea search season seat second see seed select self sell send sense sentence set
    seven several shape share sharp she sheet shell shine ship shop shore short should show side sight
    sign similar simple since sing single sit six size skill skin sky sleep slip slow small snow soft
    soil solution solve some son song soon sound south space special speech speed spot spread spring
    square stand star start state station stay step stick still stone stood stop store story stream
    street string strong student study subject success such sugar suggest summer sun supply support
    surface system table tail take talk tall team tell temperature ten term test than thank that the
    their them then there these they thick thin thing think third this those though thought three through
    time tiny together tone too tool top total touch town track trade train travel tree trip true try
    tube turn two type under unit until use usual value vary very view visit voice wait walk wall want
    warm wash watch water wave way wear weather week weight well went were west what wheel when where
    whether which while white who whole whose why wide wife wild will win wind window wing winter with
    woman wood word work world would write wrong yard year yellow yes yet you young your
    """.split()  # noqa: SIM905 (a list literal of seven hundred lines reads no better)
)
