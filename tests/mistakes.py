"""Rules of the tutorial and the examples, and the mistakes that hands make in them.

A mistake is what is right, what is written in its place, where it is told, and what the message
must say.
"""

Mistake = tuple[str, str, str, str]

ALARMS = "Temp(area: string, value: double)\nSmoke(area: string)\n"
FIRE = """Rule Fire
define Fire(area: string, measured: double)
from Smoke(area = $a) and
  last Temp(area = $a and value > 45) within 5 min from Smoke
where area = Smoke.area and measured = Temp.value
"""
HEATING = """rule Heating
  when "Temp" called hot where value > 45
    preceded by last "Temp" called cool where value < 40 within 5 min
  on same area
  gives "Heating" with area = area of hot, low = value of cool, high = value of hot
"""
SHOP = "SHELF-READING(id: int, shelf: string)\nCOUNTER-READING(id: int)\n"
SHOP += "EXIT-READING(id: int, door: string)\n"
SHOPLIFTING = """QUERY Shoplifting
EVENT SEQ(SHELF-READING x, !(COUNTER-READING y), EXIT-READING z)
WHERE [id] AND x.shelf != 'A1'
WITHIN 12 hours
RETURN Theft(item = x.id, door = z.door)
"""
MEASURES = "CPU(source: string, value: double)\nResponse(source: string, value: double)\n"
MEASURES += "Fault(source: string, value: int)\n"
SERVERS = """Constant HIGH = 80
Rule Busy
Define CPU_High(Usage: Double)
From CPU
Where Average(CPU.value) > HIGH Within(5 min)
Composite CPU.Source
Rule Failing
Define Trouble(Slow: Integer, Code: Integer)
From Response, Fault
Where Count(Response.value > 1000) = 3 Then Fault Within(10 min)
Composite Response.Source = Fault.Source
"""
ROOMS = "Opening(room: string)\nClosing(room: string)\nPerson(room: string)\n"
ROOMS += "Temp(room: string, value: double)\nBoardOn(room: string)\nBoardOff(room: string)\n"
OFFICE = """define LeftOpen as
  ([o: Opening], [T1 in {T1, Closing(room = o.room)}]) T1 = 5min
  return (room = o.room)
define Meeting as
  [on: BoardOn] ; [p: Person, Opening] ; [n: Person(room = on.room)]* ; [off: BoardOff]
  where on.room = off.room and Count(n) > 2
  within 4h
  return (room = on.room, moves = Count(n))
"""
RULES = {
    "tesla": (FIRE, ALARMS),
    "pretty": (HEATING, ALARMS),
    "sase": (SHOPLIFTING, SHOP),
    "laipl": (SERVERS, MEASURES),
    "core": (OFFICE, ROOMS),
}
"""The rules by language, with their schema."""

_TESLA: list[Mistake] = [
    ("value > 45", "valu > 45", "4:27", "did you mean value?"),
    ("within", "witin", "4:39", "did you mean within?"),
    ("from Smoke(", "form Smoke(", "3:1", "did you mean from?"),
    ("define", "defin", "2:1", "did you mean define?"),
    ("Rule Fire", "Rul Fire", "1:1", "did you mean Rule?"),
    ("string, measured", "string measured", "2:26", "put a comma before 'measured'"),
    ("> 45)", "> 45", "4:38", "close the bracket before 'within'"),
    ("> 45", '> "hot', "4:35", "close the quotes"),
    ("> 45", '> "hot"', "4:27", "a number stands without quotes"),
    ("5 min", "5 minn", "4:48", "such as 5 min"),
    ("5 min", "0 min", "4:46", "write a positive length of time"),
    (" within 5 min from Smoke", "", "5:1", "before 'where' must stand as or between or within"),
    ("min from Smoke", "min", "5:1", "before 'where' must stand from"),
    ("min from Smoke", "min of Smoke", "4:52", "a window is written: within 5 min from Smoke"),
    ("last Temp", "Temp", "4:34", "each, first or last stands before an event"),
    ("Smoke.area", "Smok.area", "5:14", "did you mean Smoke?"),
    ("$a) and", "a) and", "3:19", "known: area"),
    ("where area =", "where aera =", "5:7", "did you mean area?"),
    (" and measured = Temp.value", "", "2:27", "give it one in where"),
    ("measured = Temp.value", "measured = Temp.area", "5:40", "give it another value"),
    ("value > 45", "value => 45", "4:33", "write >="),
    ("measured: double", "measured: dobule", "2:37", "did you mean double?"),
    ("Rule Fire", "Fire", "1:1", "put Rule before 'Fire'"),
    ("Rule Fire", "Rule Fire:", "1:10", "take ':' out"),
    ("from Smoke(", "from Smok(", "4:57", "write Smoke in the place of Smok"),
    ("last Temp", "last Tmep", "5:40", "write Temp in the place of Tmep"),
    ("last", "lats", "4:8", "did you mean last?"),
    ("$a) and", "$a),", "3:22", "write and in the place of ,"),
    ("$a) and", "$a) adn", "3:23", "did you mean and?"),
    ("> 45", "> 45,5", "4:38", "a number is written with a point"),
    ("= $a) and", "= A1) and", "3:19", "a text stands in quotes"),
    ("where area", "area", "5:1", "put where before 'area'"),
    ("Smoke.area and", "Smoke.area", "5:25", "before 'measured'"),
    (
        "Temp.value\n",
        "Temp.value Rule B define X() from Smoke()\n",
        "5:51",
        "begin a new line before 'Rule'",
    ),
    (
        "where area = Smoke.area and measured = Temp.value",
        "consuming Temp\nwhere area = Smoke.area",
        "6:1",
        "this order: Rule, define, from, where, consuming",
    ),
    ("(area: string, measured: double)", "", "3:1", "put () before 'from'"),
    ("area: string", "area", "2:17", "put a colon and a type before ','"),
]
_PRETTY: list[Mistake] = [
    ('"Temp" called hot', '"Tmp" called hot', "2:8", "did you mean Temp?"),
    ("value > 45", "valu > 45", "2:32", "did you mean value?"),
    ("called hot", "as hot", "2:15", "a name is given with called"),
    ("preceded by", "preceeded by", "3:5", "did you mean preceded by?"),
    ("within", "witin", "3:58", "did you mean within?"),
    ("5 min", "5 minuets", "3:67", "such as 5 min"),
    ("on same area", "on area", "4:3", "or on same area"),
    ("on same area", "on same aera", "4:11", "did you mean area?"),
    ("of hot, low", "of hot low", "5:43", "put a comma before 'low'"),
    ('"Temp" called cool', '"Temp called cool', "3:22", "close the quotes"),
    ("> 45", '> "hot"', "2:32", "a number stands without quotes"),
    ("value of cool", "value of cold", "5:59", "did you mean cool?"),
    ('gives "', 'give "', "5:3", "did you mean gives?"),
    ("value > 45", "value more than 45", "2:38", "is above, is below"),
    ("rule Heating", "rul Heating", "1:5", "did you mean rule?"),
    ("rule Heating", "Heating", "2:3", "put rule before 'Heating'"),
    ("when", "wen", "2:7", "did you mean when?"),
    ("called hot", "calld hot", "2:15", "did you mean called?"),
    ("where value > 45", "whre value > 45", "2:26", "did you mean where?"),
    ("value > 45", "value > 45, area = 'A1'", "2:42", "write and in the place of ,"),
    ("> 45", "> 45,5", "2:42", "a number is written with a point"),
    ("> 45", "=> 45", "2:38", "write >= in the place of =>"),
    ("> 45", ">", "3:14", "something is missing before 'preceded'"),
    ("preceded by", "preceded", "3:5", "write preceded by"),
    ("preceded by", "by", "3:5", "write followed by or preceded by in the place of 'by'"),
    ("within 5 min", "within", "4:3", "put a value before 'on same'"),
    ("last", "lst", "3:21", "did you mean last?"),
    ("within 5 min", "in 5 min", "3:58", "a window is written: within 5 min"),
    ("within 5", "5", "3:58", "put within before '5'"),
    ("same", "smae", "4:11", "did you mean same?"),
    ("gives ", "", "5:3", "put gives before"),
    (" with area", " area", "5:19", "put with before 'area'"),
    ("value of cool", "value cool", "5:56", "put of before 'cool'"),
    ("hot, low", "hot and low", "5:47", "between the attributes of gives stand commas"),
    ("low =", "low as dobule =", "5:51", "did you mean double?"),
    (
        "value of hot\n",
        'value of hot rule B when "Smoke"\n',
        "5:85",
        "begin a new line before 'rule'",
    ),
]
_SASE: list[Mistake] = [
    ("QUERY Shop", "QEURY Shop", "1:7", "did you mean QUERY?"),
    ("QUERY Shop", "Shop", "1:12", "put QUERY before 'Shoplifting'"),
    ("QUERY Shoplifting", "QUERY", "1:6", "a query has a name: QUERY Shoplifting"),
    ("QUERY Shoplifting", "QUERY Shop Lifting", "1:12", "the name of a query is one word"),
    ("QUERY Shoplifting", "QUERY Shoplifting:", "1:18", "take ':' out"),
    ("EVENT", "EVNET", "2:1", "did you mean EVENT?"),
    ("EVENT ", "", "2:1", "put EVENT before 'SEQ'"),
    ("EVENT", "FROM", "2:1", "write EVENT in the place of 'FROM'"),
    ("SEQ(", "(", "2:7", "put SEQ before '('"),
    ("SEQ(", "SEQ ", "2:11", "put ( before 'SHELF-READING'"),
    ("EXIT-READING z)", "EXIT-READING z", "3:1", "close the bracket after 'z' with )"),
    (
        "SEQ(SHELF-READING x, !(COUNTER-READING y), EXIT-READING z)",
        "SEQ[SHELF-READING x, !(COUNTER-READING y), EXIT-READING z]",
        "2:10",
        "write ( and ) in the place of [ and ]",
    ),
    ("x, !", "x !", "2:27", "put a comma before '!'"),
    ("x, !", "x; !", "2:26", "write , in the place of ;"),
    ("READING z)", "READING z,)", "2:65", "take the comma before ')' out"),
    ("!(C", "!C", "2:47", "open the bracket before it with ("),
    ("y), EXIT", "y, EXIT", "2:47", "close the bracket before ',' with )"),
    ("!(C", "(C", "2:28", "before '(' must stand !"),
    ("EXIT-READING", "EXIT-REEDING", "2:50", "did you mean EXIT-READING"),
    ("EXIT-READING", "EXIT_READING", "2:50", "did you mean EXIT-READING"),
    ("EXIT-READING z", "EXIT READING z", "2:63", "a type of one word and a variable"),
    ("READING x", "READING", "3:16", "no event of rule Shoplifting is called x"),
    ("READING z", "READING x", "2:63", "give each a variable of its own"),
    ("WHERE", "WHRE", "3:1", "did you mean WHERE?"),
    ("WHERE ", "", "3:1", "put WHERE before '['"),
    (
        "WHERE [id] AND x.shelf != 'A1'\nWITHIN 12 hours",
        "WITHIN 12 hours\nWHERE [id]",
        "4:1",
        "this order: QUERY, EVENT, WHERE, WITHIN, RETURN",
    ),
    ("WITHIN 12", "WHERE x.id = 1\nWITHIN 12", "4:1", "WHERE stands once in a rule"),
    ("[id]", "id]", "3:9", "open the bracket before it with ["),
    ("[id]", "[id", "3:11", "close the bracket before 'AND' with ]"),
    ("[id]", "[]", "3:8", "put a name before ']'"),
    ("[id]", "(id)", "3:8", "[id] is the same in all events"),
    ("[id]", "[idd]", "3:8", "did you mean id?"),
    (" AND", " ADN", "3:12", "did you mean AND?"),
    (" AND", "", "3:12", "put one of AND, OR before 'x'"),
    (" AND", ",", "3:11", "write and in the place of ,"),
    ("AND", "&", "3:12", "write and in the place of &"),
    ("AND", "||", "3:12", "write or in the place of ||"),
    ("x.shelf", "shelf", "3:16", "write x.shelf or y.shelf or z.shelf"),
    ("x.shelf", "w.shelf", "3:16", "known: x, y, z"),
    ("x.shelf", "x shelf", "3:18", "put a point before 'shelf'"),
    ("x.shelf", ".shelf", "3:16", "put a variable before '.'"),
    ("x.shelf", "x.shlef", "3:16", "did you mean shelf?"),
    ("!=", "=>", "3:24", "write >= in the place of =>"),
    ("!=", "=<", "3:25", "write <= in the place of =<"),
    ("!=", "=!", "3:25", "write != in the place of =!"),
    (" != ", " ", "3:24", "put a comparison such as = before"),
    ("x.shelf != 'A1'", "x.shelf", "3:16", "must compare two values"),
    ("x.shelf !=", "x.shelf IN (", "3:24", "name each value by itself"),
    ("'A1'", "'A1", "3:27", "close the quotes"),
    ("'A1'", "A1", "3:27", "a text stands in quotes"),
    ("'A1'", "5", "3:16", "a string in quotes"),
    ("'A1'", "", "4:1", "put a value before 'WITHIN'"),
    ("WITHIN", "WITIHN", "4:1", "did you mean WITHIN?"),
    ("WITHIN ", "", "4:1", "put WITHIN before '12'"),
    ("12 hours", "12 hrous", "4:11", "units are us, ms, s, min, hours"),
    ("12 hours", "hours 12", "4:14", "the number stands first"),
    ("12 hours", "1,5 hours", "4:9", "a number is written with a point"),
    ("12 hours", "0 hours", "4:8", "write a positive length of time"),
    (
        "WITHIN 12 hours\n",
        "WITHIN 12 hours QUERY Q EVENT A x\n",
        "4:17",
        "begin a new line before 'QUERY'",
    ),
    (", EXIT-READING z)", ")", "5:34", "no event of rule Shoplifting is called z"),
    ("RETURN", "RETRUN", "5:1", "did you mean RETURN?"),
    ("RETURN ", "", "5:1", "put RETURN before 'Theft'"),
    ("Theft(", "(", "5:8", "put an event type before '('"),
    ("Theft(", "", "5:13", "more ) than ("),
    ("item = x.id, door = z.door", "x.id, z.door", "5:15", "attributes with names"),
    ("item =", "item:", "5:18", "write = in the place of :"),
    ("item =", "item", "5:19", "put = before 'x'"),
    ("x.id, door", "x.id door", "5:26", "put a comma before 'door'"),
    ("z.door)", "z.door", "5:40", "close the bracket after 'door' with )"),
    ("z.door", "y.id", "5:27", "return attributes of the events without !"),
]
_LAIPL: list[Mistake] = [
    ("Constant", "Cosntant", "1:1", "did you mean Constant?"),
    ("Constant ", "", "1:1", "put Constant before 'HIGH'"),
    ("HIGH =", "HIGH", "1:15", "put = before '80'"),
    ("HIGH =", "HIGH:", "1:14", "write = in the place of :"),
    ("= 80", "=", "1:16", "put a value at the end"),
    ("= 80", "= 80,5", "1:19", "a number is written with a point"),
    ("Constant HIGH = 80\n", "", "4:28", "Constant HIGH = 80"),
    ("> HIGH", "> HIHG", "5:28", "did you mean HIGH?"),
    ("Rule Busy", "Rlue Busy", "2:1", "did you mean Rule?"),
    ("Rule Busy", "Busy", "2:1", "put Rule before 'Busy'"),
    ("Rule Busy", "Rule", "3:1", "put a name for the rule before 'Define'"),
    ("Define", "Defien", "3:1", "did you mean Define?"),
    ("Define ", "", "3:1", "put Define before 'CPU_High'"),
    ("(Usage: Double)", "", "4:1", "put () before 'From'"),
    ("(Usage: Double)", "(Usage)", "3:22", "put a colon and a type before ')'"),
    ("Usage: Double", "Usage Double", "3:23", "put a colon before 'Double'"),
    ("Usage: Double", "Usage: Duoble", "3:24", "did you mean Double?"),
    ("Usage: Double", "Usage: Number", "3:24", "known: Boolean, Double"),
    ("Double)", "Double", "4:1", "close the bracket after 'Double' with )"),
    (
        "Usage: Double",
        "Usage: Double, Other: Double",
        "3:32",
        "take the values of the constraints in order",
    ),
    ("From CPU", "Form CPU", "4:1", "did you mean From?"),
    ("From CPU", "CPU", "4:1", "put From before 'CPU'"),
    ("From CPU\n", "From\n", "5:7", "something is missing before 'Where'"),
    (
        "From CPU\nWhere Average(CPU.value) > HIGH Within(5 min)",
        "Where Average(CPU.value) > HIGH Within(5 min)\nFrom CPU",
        "4:1",
        "this order: Rule, Define, From, Where, Composite",
    ),
    ("Response, Fault", "Response Fault", "9:15", "put a comma before 'Fault'"),
    ("Response, Fault", "Response and Fault", "9:15", "write , in the place of and"),
    ("Response, Fault", "Rseponse, Fault", "11:11", "write Response in the place of Rseponse"),
    ("Response, Fault", "Response", "11:29", "event Fault is not in From"),
    ("Where Average", "Wehre Average", "5:1", "did you mean Where?"),
    ("Where Average", "Average", "5:1", "put Where before 'Average'"),
    ("Average", "Avearge", "5:14", "did you mean Average?"),
    ("Average", "Mean", "5:11", "there are Average(…), Sum(…), Min(…) or Max(…)"),
    ("Average(", "(", "5:19", "say what is computed"),
    ("Average(", "Average ", "5:15", "put ( before 'CPU.value'"),
    ("CPU.value)", "CPU.value", "5:25", "close the bracket before '>' with )"),
    ("CPU.value", "value", "5:15", "stands behind its event: CPU.value"),
    ("CPU.value", "CPU value", "5:19", "put a point before 'value'"),
    ("CPU.value", "CPU.vlaue", "5:7", "did you mean value?"),
    ("> HIGH", "=> HIGH", "5:26", "write >= in the place of =>"),
    ("> HIGH", "HIGH", "5:26", "what is computed is compared"),
    ("> HIGH", ">", "5:34", "something is missing before 'Within'"),
    ("Within(5", "Wihtin(5", "5:33", "did you mean Within"),
    ("Within(5 min)", "Within 5 min", "5:33", "is written: Within(5 min)"),
    ("Within(5 min)", "(5 min)", "5:33", "put Within before '('"),
    ("5 min)", "5 min", "6:1", "close the bracket after 'min' with )"),
    ("5 min", "5 minuets", "5:42", "such as 5 min"),
    ("Within(5", "Batch(5", "5:41", "Batch counts events"),
    (" Within(5 min)", "", "5:7", "end the Where clause with Within(5 min)"),
    (
        "Count(Response.value > 1000)",
        "Count(Response.value 1000)",
        "10:28",
        "put a comparison such as = before '1000'",
    ),
    (") = 3 Then", ") Then", "10:36", "what is computed is compared"),
    ("Then", "Tehn", "10:40", "did you mean Then?"),
    ("Then", "->", "10:41", "is written: Response Then Fault"),
    ("Then Fault", "Fault", "10:40", "put one of and, or, Then before 'Fault'"),
    (
        "= 3 Then Fault Within(10 min)",
        "= 3 Within(10 min) Then Fault",
        "10:55",
        "the window stands once, at the end of Where",
    ),
    ("Composite CPU", "Compsite CPU", "6:1", "did you mean Composite?"),
    ("Composite CPU", "CPU", "6:1", "put Composite before 'CPU.Source'"),
    ("CPU.Source\n", "CPU.Source = web-1\n", "6:27", "goes into quotes"),
    ("CPU.Source\n", "CPU.Source Within(5 min)\n", "6:22", "at the end of Where, before Composite"),
    ("CPU.Source\n", "CPU.Source ", "6:22", "begin a new line before 'Rule'"),
    ("Response.Source = Fault", "Response.Source Fault", "11:27", "put = before 'Fault.Source'"),
    (
        "Response.Source = Fault.Source",
        "Response.Source",
        "11:11",
        "add it to the chain: … = Fault.source",
    ),
]
_CORE: list[Mistake] = [
    ("define Meeting", "defien Meeting", "4:1", "did you mean define?"),
    ("define Meeting", "Meeting", "4:1", "a rule starts with define"),
    ("define Meeting as", "Meeting :=", "4:1", "a rule starts with define"),
    ("define Meeting as", "define Meeting is", "4:16", "write as in the place of 'is'"),
    ("define Meeting as", "define Meeting", "5:3", "put as before '['"),
    ("define Meeting as", "define as", "5:3", "something is missing before 'as'"),
    ("[on: BoardOn]", "on: BoardOn]", "5:3", "[ before 'on'"),
    ("[on: BoardOn]", "[on: BoardOn", "5:16", "close the bracket before ';' with ]"),
    ("[on: BoardOn]", "(on: BoardOn)", "5:4", "in square brackets: [on: BoardOn]"),
    ("[on: BoardOn]", "[on BoardOn]", "5:7", "put a colon before 'BoardOn'"),
    ("[on: BoardOn]", "[on = BoardOn]", "5:7", "write : in the place of ="),
    ("[on: BoardOn]", "[BoardOn as on]", "5:12", "a label stands before the type"),
    ("[on: BoardOn]", "[BoardOn: on]", "5:60", "an event gets a label before its type"),
    ("[on: BoardOn]", "[on: BaordOn]", "5:8", "did you mean BoardOn"),
    ("[on: BoardOn]", "[]", "5:4", "an atom needs an event"),
    ("[on: BoardOn] ;", "[on: BoardOn],", "5:16", "write ; in the place of ,"),
    ("[on: BoardOn] ;", "[on: BoardOn] then", "5:17", "[A] ; [B]"),
    ("[on: BoardOn] ;", "[on: BoardOn] ->", "5:17", "[A] ; [B]"),
    ("[on: BoardOn] ;", "[on: BoardOn] and", "5:17", "[A] || [B]"),
    ("[on: BoardOn] ;", "[on: BoardOn] or", "5:17", "[A] | [B]"),
    ("[off: BoardOff]", "[off: BoardOff] ;", "6:3", "take ';' out"),
    ("Person, Opening", "Person Opening", "5:30", "put a comma before 'Opening'"),
    ("]*", "]+", "5:69", "one or more is written [A] [A]*"),
    ("on.room)]*", "on.room)*]", "5:68", "* stands behind the bracket"),
    ("on.room)]*", "on.room]*", "5:67", "close the bracket before ']' with )"),
    ("(room = on.room)", "(room on.room)", "5:58", "put a comparison such as = before 'on'"),
    ("room = on.room)]", "room = on room)]", "5:63", "put a point before 'room'"),
    ("([o: Opening], ", "([o: Opening] ", "2:55", "two parts with a comma between them"),
    ("([o", "[o", "2:15", "more ) than ("),
    ("{T1", "T1", "2:27", "more } than {"),
    (
        "{T1, Closing(room = o.room)}",
        "(T1, Closing(room = o.room))",
        "2:25",
        "write { and } in the place of ( and )",
    ),
    ("room)}", "room)", "2:52", "close the bracket before ']' with }"),
    ("T1 in", "T1", "2:22", "put in before '{'"),
    ("T1 = 5min", "T1: 5min", "2:58", "write = in the place of :"),
    ("T1 = 5min", "= 5min", "2:56", "put a name before '='"),
    ("T1 = 5min", "T1 = 5 mni", "2:63", "such as 5 min"),
    ("T1 = 5min", "T1 =", "3:3", "put a number before 'return'"),
    ("where on", "wehre on", "6:3", "did you mean where?"),
    ("where on", "on", "6:3", "put where before 'on'"),
    ("where on.room", "where room", "6:9", "write on.room or"),
    ("off.room and", "off.room,", "6:27", "write and in the place of ,"),
    ("off.room and", "off.room &", "6:28", "write and in the place of &"),
    ("and Count", "Count", "6:28", "put one of and, or before 'Count'"),
    ("Count(n) >", "Cuont(n) >", "6:37", "did you mean Count?"),
    ("Count(n) >", "Number(n) >", "6:38", "there are Avg, Sum, Min, Max or Count"),
    ("Count(n) >", "Count(n >", "6:40", "close the bracket before '>' with )"),
    ("Count(n) >", "Count n) >", "6:38", "put ( before 'n'"),
    ("> 2", "=> 2", "6:41", "write >= in the place of =>"),
    ("> 2", "> 2,5", "6:44", "a number is written with a point"),
    ("> 2", ">", "7:10", "something is missing before 'within'"),
    ("off.room and", "'A1 and", "6:19", "close the quotes"),
    ("within 4h", "wihtin 4h", "7:3", "did you mean within?"),
    ("within 4h", "4h", "7:3", "put within before '4'"),
    ("within 4h", "within 4 hous", "7:12", "such as 5 min"),
    (
        "within 4h\n  return (room = on.room, moves = Count(n))",
        "return (room = on.room, moves = Count(n))\n  within 4h",
        "8:3",
        "this order: define, where, within, return",
    ),
    ("within 4h", "where on.room = 'A'\n  within 4h", "7:3", "where stands once in a rule"),
    ("return (room = on", "retrun (room = on", "8:3", "did you mean return?"),
    ("return (room = on", "(room = on", "8:3", "put return before '('"),
    ("return (room = o.room)", "(room = o.room)", "3:4", "put where or return before '('"),
    ("return (room = o.room)", "return room = o.room", "3:10", "attributes stand in brackets"),
    ("return (room = o.room)", "return (room: o.room)", "3:15", "write = in the place of :"),
    ("return (room = o.room)", "return (o.room)", "3:12", "each attribute has a name"),
    ("on.room, moves", "on.room moves", "8:26", "put a comma before 'moves'"),
    ("Count(n))", "Count(n)", "8:43", "close the bracket after ')' with )"),
]
MISTAKES = {
    "tesla": _TESLA,
    "pretty": _PRETTY,
    "sase": _SASE,
    "laipl": _LAIPL,
    "core": _CORE,
}
"""The mistakes by language."""
