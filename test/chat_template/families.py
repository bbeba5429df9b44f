"""Templates that write the formats of well-known families, with the constructs that theirs use. They are written for this
test; the formats are those of the model cards."""

CHATML = """{%- for message in messages %}
{{- '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"""

LLAMA_2 = """{% set system = '' %}
{% if messages and messages[0].role == 'system' %}
{% set system = '<<SYS>>\\n' ~ messages[0].content ~ '\\n<</SYS>>\\n\\n' %}
{% set messages = messages[1:] %}
{% endif %}
{% for m in messages %}
{% if (m.role == 'user') != (loop.index0 is even) %}
{{ raise_exception('roles must alternate user/assistant') }}
{% endif %}
{% if m.role == 'user' %}
{{ bos_token + '[INST] ' + (system if loop.first else '') + m.content | trim + ' [/INST]' }}
{%- else %}
{{- ' ' + m.content.strip() + ' ' + eos_token }}
{%- endif %}
{% endfor %}"""

LLAMA_3 = """{{- bos_token }}
{%- if not date_string is defined %}{% set date_string = strftime_now('%d %b %Y') %}{% endif %}
{%- for m in messages -%}
    {{- '<|start_header_id|>' ~ m.role ~ '<|end_header_id|>\\n\\n' }}
    {%- if loop.first and m['role'] == 'system' %}{{ 'Today: ' ~ date_string ~ '\\n\\n' }}{% endif %}
    {%- if m.content is string %}{{ m.content | trim }}
    {%- else %}{% for part in m.content if part.type == 'text' %}{{ part['text'] }}{% endfor %}
    {%- endif %}{{ '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}"""

MISTRAL = """{%- if messages and messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content'] %}
    {%- set rest = messages[1:] %}
{%- else %}
    {%- set rest = messages %}
{%- endif %}
{{- bos_token }}
{%- for message in rest %}
    {%- if message.role == 'user' %}
        {%- if loop.last and system_message is defined %}
            {{- '[INST] ' + system_message + '\\n\\n' + message.content + '[/INST]' }}
        {%- else %}
            {{- '[INST] ' + message.content + '[/INST]' }}
        {%- endif %}
    {%- elif message['tool_calls'] is defined and message.tool_calls is not none %}
        {{- '[TOOL_CALLS] [' }}
        {%- for call in message.tool_calls %}
            {%- set text = call.function | tojson %}
            {{- text[:-1] + ', "id": "' + call.id + '"}' + (', ' if not loop.last else ']' + eos_token) }}
        {%- endfor %}
    {%- elif message.role in ['tool', 'tool_results'] %}
        {{- '[TOOL_RESULTS] {"content": ' ~ message.content ~ '}[/TOOL_RESULTS]' }}
    {%- else %}
        {{- ' ' + message.content + eos_token }}
    {%- endif %}
{%- endfor %}"""

QWEN_TOOLS = """{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0].role == 'system' %}{{- messages[0].content + '\\n\\n' }}{%- endif %}
    {{- '# Tools\\n<tools>' }}
    {%- for tool in tools %}{{- '\\n' }}{{- tool | tojson }}{%- endfor %}
    {{- '\\n</tools><|im_end|>\\n' }}
{%- elif messages and messages[0].role == 'system' %}
    {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- endif %}
{%- set ns = namespace(multi_step=true, last=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step and message.role == "user" and not (message.content.startswith('<tool_response>')
           and message.content.endswith('</tool_response>')) %}
        {%- set ns.multi_step = false %}
        {%- set ns.last = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.role == 'user' or (message.role == 'system' and not loop.first) %}
        {{- '<|im_start|>' ~ message.role ~ '\\n' ~ message.content ~ '<|im_end|>\\n' }}
    {%- elif message.role == 'assistant' %}
        {%- set content = message.content if message.content is string else '' %}
        {%- set thought = '' %}
        {%- if '</think>' in content %}
            {%- set thought = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
        {%- endif %}
        {{- '<|im_start|>assistant\\n' }}
        {%- if loop.index0 > ns.last and (loop.last or thought) %}
            {{- '<think>\\n' + thought.strip('\\n') + '\\n</think>\\n\\n' }}
        {%- endif %}
        {{- content }}
        {%- for tool_call in message.tool_calls or [] %}
            {%- if (loop.first and content) or not loop.first %}{{- '\\n' }}{%- endif %}
            {%- set call = tool_call.function if tool_call.function else tool_call %}
            {{- '<tool_call>\\n{"name": "' + call.name + '", "arguments": ' }}
            {{- call.arguments if call.arguments is string else call.arguments | tojson }}
            {{- '}\\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == 'tool' %}
        {%- if loop.first or messages[loop.index0 - 1].role != 'tool' %}{{- '<|im_start|>user' }}{%- endif %}
        {{- '\\n<tool_response>\\n' ~ message.content ~ '\\n</tool_response>' }}
        {%- if loop.last or messages[loop.index0 + 1].role != 'tool' %}{{- '<|im_end|>\\n' }}{%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}
{%- endif %}"""

GEMMA = """{{ bos_token }}
{%- set first = '' -%}
{%- if messages and messages[0]['role'] == 'system' -%}
    {%- set first = messages[0]['content'] + '\\n\\n' -%}
    {%- set messages = messages[1:] -%}
{%- endif -%}
{%- for message in messages -%}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}
        {{ raise_exception("Conversation roles must alternate user/assistant/user/assistant/...") }}
    {%- endif -%}
    {%- set role = "model" if message['role'] == 'assistant' else message['role'] -%}
    {{ '<start_of_turn>' + role + '\\n' + (first if loop.first else "") }}
    {%- if message['content'] is string -%}
        {{ message['content'] | trim }}
    {%- elif message['content'] is iterable -%}
        {%- for item in message['content'] -%}
            {%- if item['type'] == 'image' -%}{{ '<start_of_image>' }}
            {%- elif item['type'] == 'text' -%}{{ item['text'] | trim }}{%- endif -%}
        {%- endfor -%}
    {%- else -%}
        {{ raise_exception("Invalid content type") }}
    {%- endif -%}
    {{ '<end_of_turn>\\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<start_of_turn>model\\n' }}{%- endif -%}"""

PHI_3 = (
    "{% for message in messages %}{% if message['role'] in ['system', 'user'] %}{{ '<|' + message['role'] + '|>\n' + "
    "message['content'] + '<|end|>\n' }}{% elif message['role'] == 'assistant' %}{{ '<|assistant|>\n' + "
    "message['content'] + '<|end|>\n' }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% else %}{{ eos_token }}{% endif %}"
)

ZEPHYR = """{% for message in messages %}
{% if message.role == 'user' %}
{{ '<|user|>\\n' + message.content + eos_token }}
{% elif message.role == 'system' %}
{{ '<|system|>\\n' + message.content + eos_token }}
{% elif message.role == 'assistant' %}
{% generation %}{{ '<|assistant|>\\n' + message.content + eos_token }}{% endgeneration %}

{% endif %}
{% if loop.last and add_generation_prompt %}
{{ '<|assistant|>' }}
{% endif %}
{% endfor %}"""

SCHEMA = """{#- TypeScript-like types of tools, by macros that call each other, as newer families have them -#}
{%- macro type_of(spec, required=[]) -%}
    {%- if spec.type == 'array' -%}
        {{ type_of(spec['items']) if spec['items'] else 'any' }}[]
    {%- elif spec.type == 'object' and spec.properties is defined -%}
        {{- '{\\n' }}
        {%- for name, value in spec.properties.items() -%}
            {{ '  ' + name ~ ('?' if name not in (spec.required or []) else '') + ': ' ~ type_of(value) }}
            {%- if not loop.last %},{% endif %}{{ '\\n' }}
        {%- endfor -%}
        {{- '}' }}
    {%- elif spec.enum is defined -%}
        {{ '"' + spec.enum | map('string') | join('" | "') + '"' }}
    {%- else -%}
        {{- {'string': 'string', 'integer': 'number'}.get(spec.type, 'any') }}
        {%- if 'default' in spec %} // default: {{ spec.default | tojson }}{% endif %}
    {%- endif -%}
{%- endmacro -%}
{%- for tool in tools or [] | selectattr('type', 'equalto', 'function') %}
{{ 'type ' ~ tool.function.name ~ ' = (_: ' ~ type_of(tool.function.parameters) ~ ') => any;' }}
{%- endfor %}
{%- set roles = messages | map(attribute='role') | unique | list %}
{{ roles | join(', ') | indent(2, true) }}
{%- set users = messages | selectattr('role', 'eq', 'user') | map(attribute='content') | reject('none') | list %}
{{ '%d of %d' | format(users | length, messages | count) }}
{% for m in messages if m.role != 'tool' %}{% if m.content is none %}{% continue %}{% endif %}
{{ loop.index }}/{{ loop.length }}{{ ' (last)' if loop.last }} {{ m.role | upper | replace('E', '3') }}: {{ m.content | string | title }}
{% if loop.index == 3 %}{% break %}{% endif %}{% else %}nothing
{% endfor %}"""

FAMILIES = {
    "chatml": CHATML,
    "llama-2": LLAMA_2,
    "llama-3": LLAMA_3,
    "mistral": MISTRAL,
    "qwen-tools": QWEN_TOOLS,
    "gemma": GEMMA,
    "phi-3": PHI_3,
    "zephyr": ZEPHYR,
    "schema": SCHEMA,
}

SYSTEM = {"role": "system", "content": "You are <b>kind</b>."}
USER = {"role": "user", "content": " Gr\u00fc\u00df dich, \u4e16\u754c \U0001f600\n"}
AGAIN = {"role": "user", "content": "again?"}
ANSWER = {"role": "assistant", "content": "<think>\nhm\n</think>\n\nIt's 20 \u00b0C. "}
CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "a1", "function": {"name": "weather", "arguments": {"city": "K\u00f6ln", "n": 1.0, "x": None, "l": [True]}}}
    ],
}
RESULT = {"role": "tool", "content": '{"t": 20}'}
PARTS = {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "what? "}]}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "description": "Weather & 'more'",
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string", "default": None},
                    "unit": {"enum": ["C", 1]},
                    "days": {"type": "array", "items": {"type": "integer"}},
                },
                "required": ["city"],
            },
        },
    }
]

CONVERSATIONS = [
    {"messages": [USER]},
    {"messages": [SYSTEM, USER], "add_generation_prompt": False},
    {"messages": [SYSTEM, USER, ANSWER, AGAIN], "enable_thinking": False},
    {"messages": [USER, ANSWER], "add_generation_prompt": False},
    {"messages": [SYSTEM, USER, CALL, RESULT, ANSWER], "tools": TOOLS},
    {"messages": [PARTS], "date_string": "1 May 2024"},
    {"messages": [USER, USER]},
    {"messages": []},
]
