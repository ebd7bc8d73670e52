"""Grammars that between them use every construct of GBNF, by the name of what they are about.

`TEXT` grammars speak of characters only. `TOKENS` grammars name tokens of the tiny model: ids 0 to
255 are single bytes, 256 is `{"`, and `<|im_start|>` is a control token.
"""

from __future__ import annotations

TEXT: dict[str, str] = {
    "literal": 'root ::= "hello"',
    "two literals": 'root ::= "ab" "cd"',
    "alternatives": 'root ::= "yes" | "no" | "not yet"',
    "literals that begin alike": 'root ::= ("in" | "int" | "integer") ("" | "e" | "teger") "r"?',
    "empty literal": 'root ::= "" "a" "" | ""',
    "empty alternative in front": 'root ::= "a" tail\ntail ::= | "b" tail',
    "empty alternative behind": 'root ::= "a" ("b" | ) "c"',
    "empty group": 'root ::= "a" () "b" (){2}',
    "empty rule": 'root ::= "a" nothing "b"\nnothing ::=',
    "empty classes": 'root ::= "a" [] "b" [^] "c"',
    "escapes in a literal": r'root ::= "\t\r\n\\\"\[\]\-"',
    "code points in a literal": r'root ::= "\x41\xE9\u00df\u4E2D\U0001F600"',
    "raw characters in a literal": 'root ::= "é中😀\t" "[a-z]" "a|b" "#"',
    "a newline in a literal": 'root ::= "a\nb" | "c"',
    "class": "root ::= [abc]",
    "ranges": "root ::= [a-cx-z0-9]+",
    "negated class": r'root ::= "\"" [^"\\]* "\""',
    "negated range": "root ::= [^a-y]{1,3}",
    "minus first and last": "root ::= [-a] [a-] [a-c-] [--0]",
    "escapes in a class": r'root ::= [\]\[\\\-\t\n\r"]+',
    "caret inside a class": "root ::= [a^b] [^^]",
    "a range that ends in a minus": "root ::= [+--]+",
    "set operators of other notations": "root ::= [a&&b]+ [a~~b] [|&~*+?.(){}]+",
    "a reversed range beside another": "root ::= [z-ab]+",
    "a negated reversed range": "root ::= [^z-a]",
    "code points in a class": r"root ::= [\x41-\x43\u00e0-\u00ff\U0001F600-\U0001F64F]+",
    "raw characters in a class": "root ::= [äöü一-龥😀-😂]+",
    "beyond the ends of unicode": r'root ::= [\x00-\x08a\U0010FFF0-\U0011FFFF]+ "."',
    "around the surrogates": r'root ::= [\uD7F0-\uE010]+ "."',
    "any character": 'root ::= "<" . ">" .*',
    "any character, a fixed number": "root ::= .{3}",
    "star": 'root ::= "a"* "b"',
    "plus": 'root ::= "ab"+',
    "optional": 'root ::= "a"? "b"? "c"?',
    "exactly": 'root ::= "ab"{3}',
    "at least": 'root ::= "a"{2,}',
    "between": 'root ::= [0-9]{2,4} "-" [0-9]{0,2}',
    "none at all": 'root ::= "a" "b"{0} "c"{0,0}',
    "spaces in a repetition": 'root ::= "a" { 1 , 2 } "b" { 2 } "c" *',
    "repetition of a sequence": 'root ::= ("a" [0-9] "b"?){2,3}',
    "stacked counts": 'root ::= "a"{2}{3} "b"+?',
    "stacked plus and star": 'root ::= "a"+* "b"',
    "stacked optional and count": 'root ::= "a"?{3} "b"*?',
    "repetition of what may be empty": 'root ::= ("a"?)* "b" ("c"* | "d")+',
    "a long count": 'root ::= [a-c]{0,200} "." [ab]{70}',
    "nested counts": 'root ::= ([a-z]{1,30} ","){0,20} "."',
    "nested groups": 'root ::= (("a" | ("b" ("c" | "d"))) "e")+',
    "a group over lines": 'root ::= (\n  "a"\n  | "b" # or this\n\n  "c"\n)* "d"',
    "a newline after a bar": 'root ::= "a" |\n\n  "b" | # why not\n  "c"',
    "a newline after the sign": 'root ::=\n  # the body\n  "a" "b"',
    "comments everywhere": '# head\nroot ::= "a" other # tail "x"\n  # between\n\n'
    '  other ::= # its body\n  "b"# and the end',
    "windows line ends": 'root ::= (\r\n "a"\r\n | b\r\n)+\r\n\r\nb ::= "b"\r\n',
    "old line ends": 'root ::= a | "c"\ra ::= "b"\r# end',
    "names": 'root ::= 1 A-b Ab aB -x\n1 ::= "1"\nA-b ::= "2"\nAb ::= "3"\naB ::= "4"\n-x ::= "5"',
    "names that other notations keep": 'root ::= start T0 r0 g0\nstart ::= "s"\nT0 ::= "t"\n'
    'r0 ::= "r"\ng0 ::= ("g" root)?',
    "a rule defined again": 'root ::= a\na ::= "old"\na ::= "new" | "newer"',
    "root defined again": 'root ::= "old"\nroot ::= "new"+',
    "no spaces": 'root::="a"b[c]("d"|"e")?.\nb::="b"*',
    "words before more letters": 'root ::= w "x"\nw ::= [a-z]*',
    "a greedy trap": 'root ::= [a-z]+ "end" | "a"* "ab"',
    "a keyword among names": 'root ::= stmt+\nstmt ::= "if" " " name ";" | name "=" [0-9]+ ";"\n'
    "name ::= [a-z] [a-z0-9]*",
    "ambiguous cuts": 'root ::= (a | b | c)*\na ::= "x" "y"?\nb ::= "yz"\nc ::= "z"',
    "a count that meets itself": 'root ::= ([ab]{1,40} [bc]{1,40}){1,3} "!"',
    "right recursion": 'root ::= "a" root | "b"',
    "balanced brackets": 'root ::= "(" root ")" root | ""',
    "palindromes": 'root ::= "a" root "a" | "b" root "b" | [ab]?',
    "as many of each": 'root ::= "a" root "b" | "ab"',
    "left recursion that is none": 'root ::= sign root "." | [0-9]\nsign ::= "+" | "-"',
    "arithmetic": "root ::= term ([-+] term)*\nterm ::= factor ([*/] factor)*\n"
    'factor ::= [0-9]+ | [a-z] | "(" root ")" | "-" factor',
    "whitespace by recursion": 'root ::= "[" ws (item ("," ws item)*)? "]" ws\n'
    "item ::= [a-z]+ ws | root\nws ::= ([ \\t\\n] ws)?",
    "json": r"""
root   ::= object
value  ::= object | array | string | number | ("true" | "false" | "null") ws
object ::= "{" ws ( string ":" ws value ("," ws string ":" ws value)* )? "}" ws
array  ::= "[" ws ( value ("," ws value)* )? "]" ws
string ::= "\"" ( [^"\\\x7F\x00-\x1F] | "\\" (["\\bfnrt] | "u" [0-9a-fA-F]{4}) )* "\"" ws
number ::= ("-"? ([0-9] | [1-9] [0-9]{0,15})) ("." [0-9]+)? ([eE] [-+]? [0-9]{1,3})? ws
ws     ::= | " " | "\n"{1,2} [ \t]{0,20}
""",
    "an object of a schema": r"""
root  ::= "{" space name ":" space string ( "," space ( size ( "," space tag )? | tag ) )? "}" space
name  ::= "\"name\""
size  ::= "\"size\"" space ":" space ("0" | "-"? [1-9] [0-9]{0,15}) space
tag   ::= "\"tag\"" space ":" space ("\"x\"" | "\"xy\"" | "null") space
string ::= "\"" char{0,12} "\"" space
char  ::= [^"\\\x7F\x00-\x1F] | [\\] (["\\bfnrt] | "u" [0-9a-fA-F]{4})
space ::= | " " | "\n" [ \t]{0,20}
""",
    # a lexer that takes the longest text goes wrong in each of these
    "letters before the same letter": 'root ::= "a"* mid\nmid ::= "a" mid "b" | "c"',
    "letters before a last letter": 'root ::= [a-z]+ ("(" root ")")? "z"',
    "a keyword without a space": 'root ::= "if" expr | [a-z]+ "=" expr\n'
    'expr ::= [a-z] [a-z]* | "(" expr ")"',
    "a number before two dots": 'root ::= range ("," range)*\nrange ::= num ".." num | num\n'
    'num ::= [0-9]+ ("." [0-9]*)? | "(" root ")"',
    "a comment or a slash": 'root ::= ("/" "*"? root | "/*" [^*]* "*/" | [a-z]) root?',
    "words cut anywhere": 'root ::= (("ab" | "abc" | "c" | "ca") tail?)+\ntail ::= "-" root',
    "quotes inside quotes": 'root ::= "\'" ([^\'] | "\'\'" | "{" root "}")* "\'"',
    "a list": 'root ::= item+\nitem ::= "- " [^\\r\\n\\x0b\\x0c\\x85\\u2028\\u2029]+ "\\n"',
    "a chess move": 'root ::= [1-9] [0-9]? ". " move " " move "\\n"\n'
    'move ::= (pawn | piece | castle) [+#]?\npiece ::= [NBKQR] [1-8a-h]? "x"? [a-h] [1-8]\n'
    'pawn ::= ([a-h] "x")? [a-h] [1-8] ("=" [NBKQR])?\ncastle ::= "O-O" "-O"?',
}

TOKENS: dict[str, str] = {
    "a token by id": 'root ::= "x" <[65]> "y"',
    "a token by text": 'root ::= <|im_start|> "user" | "none"',
    "a token of two characters": "root ::= <[256]> [a-z]*",
    "any token but one": 'root ::= !<[66]>{2} <[66]> "."',
    "any token but a control token": 'root ::= (!<|im_start|>)* <|im_start|> "answer"',
    "tokens that overlap": 'root ::= (!<[65]> "a" | <[66]> "b" | <[66]> "c" | !<[67]> "d")+',
    "one token or any other": "root ::= (<[65]> <[66]> | !<[65]> <[67]>)*",
    "a token after text": "root ::= [a-z]* <[65]> [a-z]* <[66]>",
    "repeated tokens": "root ::= <[65]>{2,3} !<[65]>+ <[65]>?",
}
