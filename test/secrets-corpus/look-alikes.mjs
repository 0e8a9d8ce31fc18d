/**
 * Text that looks a little like a secret and is none. Hiding it makes a tape less useful: each must
 * be on the tape as it was.
 */
import { randomText } from './random.mjs'

/** @typedef {'prompt' | 'json' | 'file' | 'stdout' | 'response' | 'query' | 'argument' |
 *   'child' | 'variable' | 'header' | 'form' | 'tool'} Location */
/**
 * @typedef {object} LookAlike
 * @property {string} id
 * @property {string} kind
 * @property {Location} place
 * @property {string} text
 */

/** @typedef {ReturnType<typeof randomText>} Random */

const base64 = (text) => Buffer.from(text).toString('base64')

/** @type {Record<string, [place: Location, texts: (random: Random) => string[]][]>} */
const kinds = {
  commit: [
    [
      'prompt',
      (r) => [`Revert commit ${r.hex(40)}.`, `See ${r.hex(7)}..${r.hex(7)} for the change.`],
    ],
    ['stdout', (r) => [`HEAD is now at ${r.hex(9)} Fix the total`, `commit ${r.hex(40)}`]],
    ['json', (r) => [JSON.stringify({ sha: r.hex(40), parents: [{ sha: r.hex(40) }] })]],
    ['response', (r) => [JSON.stringify({ head: { ref: 'main', sha: r.hex(40) } })]],
    ['query', (r) => [`ref=${r.hex(40)}`]],
  ],
  uuid: [
    [
      'json',
      (r) => [
        JSON.stringify({ id: r.uuid(), traceId: r.hex(32) }),
        JSON.stringify({ requestId: r.uuid() }),
      ],
    ],
    ['stdout', (r) => [`request ${r.uuid()} took 12 ms`]],
    ['prompt', (r) => [`The session of customer ${r.uuid()} was slow.`]],
    ['query', (r) => [`id=${r.uuid()}`, `order_id=${r.uuid()}`]],
    ['response', (r) => [JSON.stringify({ conversation: r.uuid(), parent_id: r.uuid() })]],
  ],
  digest: [
    [
      'file',
      (r) => [
        `"integrity": "sha512-${r.base64(86)}=="`,
        `sha256:${r.hex(64)}`,
        `${r.hex(64)}  shop-1.2.0.tar.gz`,
        `h1:${r.base64(43)}=`,
        `--hash=sha256:${r.hex(64)}`,
        `checksum = "${r.hex(64)}"`,
      ],
    ],
    [
      'json',
      (r) => [
        JSON.stringify({ image: `shop@sha256:${r.hex(64)}` }),
        JSON.stringify({ md5: r.hex(32), size: 120 }),
      ],
    ],
    [
      'stdout',
      (r) => [`Digest: sha256:${r.hex(64)}`, `SHA256:${r.base64(43)} (fingerprint of the host)`],
    ],
    ['response', (r) => [JSON.stringify({ etag: r.hex(32) }), `W/"${r.hex(27)}"`]],
  ],
  image: [
    [
      'json',
      (r) => [JSON.stringify({ image_url: `data:image/png;base64,iVBORw0KGgo${r.base64(120)}` })],
    ],
    ['file', (r) => [`<img src="data:image/gif;base64,R0lGODlh${r.base64(80)}">`]],
    ['response', (r) => [JSON.stringify({ embedding: base64(r.alnum(60)) })]],
  ],
  identifier: [
    [
      'prompt',
      (r) => [
        `Order ${r.digits(10)} has not arrived.`,
        `Where is parcel 1Z${r.upperDigits(16)}?`,
        `The invoice is INV-2026-${r.digits(6)}.`,
        `Book flight LH${r.digits(4)} on 2026-11-18.`,
        `ISBN 978-3-${r.digits(2)}-${r.digits(6)}-1`,
        `Customer cus_${r.alnum(14)} wants a refund.`,
      ],
    ],
    [
      'json',
      (r) => [
        JSON.stringify({ id: `chatcmpl-${r.alnum(29)}` }),
        JSON.stringify({ tool_call_id: `call_${r.alnum(24)}` }),
        JSON.stringify({ id: `msg_01${r.alnum(22)}` }),
        JSON.stringify({ id: `toolu_01${r.alnum(22)}` }),
        JSON.stringify({ order: `ord_${r.alnum(16)}`, total: 216 }),
        JSON.stringify({ thread_id: `thread_${r.alnum(24)}` }),
        JSON.stringify({ system_fingerprint: `fp_${r.hex(10)}` }),
      ],
    ],
    [
      'response',
      (r) => [
        JSON.stringify({ id: `resp_${r.hex(48)}` }),
        JSON.stringify({ file_id: `file-${r.alnum(24)}` }),
        JSON.stringify({ payment_intent: `pi_${r.alnum(24)}` }),
        JSON.stringify({ cursor: base64(`page:${r.digits(6)}`) }),
        JSON.stringify({ next_page_token: '2', items: [] }),
      ],
    ],
    [
      'stdout',
      (r) => [
        `pod shop-${r.hex(10)}-${r.lowerDigits(5)} started`,
        `arn:aws:s3:::shop-${r.lowerDigits(8)}`,
        `1-${r.hex(8)}-${r.hex(24)} (trace)`,
        `job 01J${r.upperDigits(23)} done`,
      ],
    ],
    [
      'query',
      (r) => [
        `cursor=${r.alnum(12)}&limit=20`,
        `v=${r.hex(8)}`,
        `utm_source=mail&utm_campaign=${r.digits(8)}`,
      ],
    ],
  ],
  model: [
    [
      'json',
      () => [
        JSON.stringify({ model: 'gpt-5.2-mini-2026-08-07' }),
        JSON.stringify({ model: 'claude-sonnet-4-5-20250929' }),
        JSON.stringify({ model: 'accounts/fireworks/models/llama-v3p3-70b-instruct' }),
        JSON.stringify({ model: 'anthropic.claude-3-5-sonnet-20241022-v2:0' }),
      ],
    ],
    [
      'stdout',
      () => ['using text-embedding-3-large with 3072 dimensions', 'model ft:gpt-4.1:shop::refunds'],
    ],
  ],
  tokens: [
    [
      'json',
      () => [
        JSON.stringify({ max_tokens: 4096, temperature: 0 }),
        JSON.stringify({ usage: { prompt_tokens: 512, completion_tokens: 64, total_tokens: 576 } }),
        JSON.stringify({ max_completion_tokens: 16384 }),
        JSON.stringify({ input_tokens: 1200, cache_read_input_tokens: 1024 }),
        JSON.stringify({ token_type: 'bearer', expires_in: 3600 }),
        JSON.stringify({ tokenizer: 'cl100k_base' }),
        JSON.stringify({ pad_token: '<pad>', eos_token: '</s>' }),
        JSON.stringify({ token_budget: 120000 }),
      ],
    ],
    [
      'stdout',
      () => [
        'token count 512',
        'tokens: 1834 in, 220 out',
        'max_tokens: 4096',
        'secrets found: 0',
        'password attempts: 3',
        'keys: 14, values: 14',
        'token usage 12%',
      ],
    ],
    [
      'response',
      () => [
        JSON.stringify({ stop_reason: 'max_tokens' }),
        JSON.stringify({ password_required: true }),
        JSON.stringify({ has_password: false, password_set_at: '2026-01-02' }),
        JSON.stringify({ secret_scanning: 'enabled' }),
        JSON.stringify({ api_key_count: 3 }),
      ],
    ],
  ],
  code: [
    [
      'prompt',
      () => [
        'const token = await readToken()',
        'if (password === undefined) throw new TypeError("no password")',
        'let apiKey: string | undefined',
        'interface Login { user: string; password: string }',
        'type Secret = { readonly secret: string }',
        'function login(user: string, password: string): Promise<Token>',
        'password: z.string().min(8)',
        'def login(user: str, password: str) -> Token:',
        'secret = os.environ["SHOP_SECRET"]',
        'api_key = os.getenv("API_KEY")',
        'apiKey: process.env.OPENAI_API_KEY',
        'token = request.headers.get("Authorization")',
        'String password = System.getenv("DB_PASSWORD");',
        'private final String clientSecret;',
        'password := flag.String("password", "", "the password")',
        'headers: { authorization: `Bearer ${token}` }',
        'const { password, ...rest } = user',
        'password TEXT NOT NULL',
        'WHERE password_hash = $1',
        '<input type="password" name="password" required>',
        'export const TOKEN_PATTERN = /[a-z]+/',
        'password: Optional[str] = None',
        'secretKeyRef: { name: shop, key: password }',
        'token: ${{ secrets.GITHUB_TOKEN }}',
      ],
    ],
    [
      'file',
      () => [
        'password: string',
        'token?: string | null',
        '# password = ',
        'secret: null',
        'api_key: ""',
        'password: !secret db_password',
        'token: "{{ vault_token }}"',
        'PASSWORD=$DB_PASSWORD',
        'export TOKEN="$(cat token.txt)"',
        'password_file: /run/secrets/db',
        'secret_name: shop-database',
        'token_url: https://shop.example/oauth/token',
        'key: value',
        'keyboard: qwerty',
        'author: Token Ring',
        'password_policy: strong',
        'passwordless: true',
        'primary_key: order_id',
        'sort_key: created_at',
      ],
    ],
  ],
  prose: [
    [
      'prompt',
      () => [
        'Passwords should have at least twelve characters.',
        'I forgot my password, how can I reset it?',
        'Your password must be changed every year.',
        'The secret is to knead the dough slowly.',
        'Explain how API keys differ from OAuth tokens.',
        'The token is refreshed every hour by the gateway.',
        'A key finding: customers like yellow lamps.',
        'Das Passwort muss mindestens zwölf Zeichen haben.',
        'Le mot de passe est trop court.',
        'La contraseña es obligatoria.',
        'パスワードは必須です。',
        'My password is not accepted any more.',
        'The API key is missing, ask the admin for one.',
        'Password: required. Token: optional.',
        'She sings in the key of B flat major.',
        'password is wrong',
        'What does "secret: true" mean in a compose file?',
        'The bearer of this letter is my brother.',
        'Basic authentication is enough for this page.',
        'Use bearer authentication instead of cookies.',
      ],
    ],
    [
      'response',
      () => [
        JSON.stringify({ error: 'invalid password' }),
        JSON.stringify({ message: 'token expired' }),
        JSON.stringify({ detail: 'API key not found' }),
        JSON.stringify({ hint: 'Set the password with --password' }),
      ],
    ],
    [
      'stdout',
      () => [
        'usage: login --user <name> --password <password>',
        'Enter password:',
        'error: token expired',
        'Authorization: required',
      ],
    ],
  ],
  placeholder: [
    [
      'file',
      () => [
        'API_KEY=your-api-key-here',
        'TOKEN=<token>',
        'SECRET=xxxxxxxxxxxxxxxx',
        'OPENAI_API_KEY=sk-...',
        'password: ********',
        'api_key: YOUR_API_KEY',
        'token: ${TOKEN}',
        'secret: TODO',
        'AWS_SECRET_ACCESS_KEY=<your secret key>',
        'GITHUB_TOKEN=ghp_xxxx',
      ],
    ],
    [
      'prompt',
      () => [
        'curl -H "Authorization: Bearer <token>" https://shop.example',
        'Set API_KEY to your key.',
        'Replace YOUR_TOKEN with the real one.',
        'mysql -u root -p shop',
        'Authorization: Bearer $TOKEN',
      ],
    ],
    [
      'json',
      () => [
        JSON.stringify({ password: '' }),
        JSON.stringify({ apiKey: null }),
        JSON.stringify({ token: true, secret: false }),
      ],
    ],
  ],
  colour: [
    [
      'file',
      (r) => [
        `color: #${r.hex(6)};`,
        `--accent: #${r.hex(8)};`,
        `background: rgba(12, 34, 56, 0.7)`,
      ],
    ],
    ['json', (r) => [JSON.stringify({ theme: { accent: `#${r.hex(6)}`, key: '#fff' } })]],
  ],
  number: [
    [
      'prompt',
      () => [
        'It costs 1,249.90 EUR, not 1,294.90.',
        'The sensor reads 3.14159265358979.',
        'Call extension 4711 after 18:00.',
        'Coordinates: 52.520008, 13.404954',
        'GTIN 4006381333931',
        '0xdeadbeef is 3735928559',
      ],
    ],
    [
      'json',
      () => [
        JSON.stringify({ price: 216, timestamp: 1763424000123 }),
        JSON.stringify({ lat: 52.520008, lon: 13.404954 }),
      ],
    ],
    [
      'stdout',
      () => [
        '2026-11-18T19:28:24.123Z INFO ready',
        '127.0.0.1 - - "GET / HTTP/1.1" 200 5316',
        'Node v20.20.2 on linux x64',
      ],
    ],
  ],
  encoded: [
    [
      'json',
      (r) => [
        JSON.stringify({
          text: base64(`the ${r.word()} and the ${r.word()} went to the ${r.word()}`),
        }),
        JSON.stringify({ csv: base64('sku,price\nlamp,49\ndesk,249\n') }),
        JSON.stringify({ html: base64('<p>Thank you for your order.</p>') }),
      ],
    ],
    [
      'response',
      (r) => [
        JSON.stringify({
          content: base64(`# ${r.word()}\n\nRead the ${r.word()} first.\n`),
          encoding: 'base64',
        }),
      ],
    ],
    [
      'query',
      () => [
        'q=red%20lamp%20%26%20desk',
        'redirect=https%3A%2F%2Fshop.example%2Forders%3Fpage%3D2',
        'filter=%7B%22status%22%3A%22open%22%7D',
      ],
    ],
    ['stdout', () => ['\\u0068\\u0065\\u006c\\u006c\\u006f', '48656c6c6f20776f726c6421']],
  ],
  address: [
    [
      'prompt',
      (r) => [
        `https://shop.example/orders/${r.digits(10)}?tab=items`,
        'https://docs.github.com/en/authentication/managing-access-tokens',
        'https://hooks.slack.com/services/T000/B000/XXXX',
        'git@git.internal:shop/app.git',
        'redis://localhost:6379/0',
        'postgres://localhost/shop',
        'mailto:orders@shop.example',
      ],
    ],
    [
      'stdout',
      () => [
        'listening on http://127.0.0.1:3000/',
        'see https://shop.example/reset-password',
        'ssh-keygen -t ed25519 -f key',
      ],
    ],
  ],
  publicKey: [
    [
      'file',
      (r) => [
        `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA${r.base64(43)} app@shop`,
        `age1${r.bech32(58).toLowerCase()}`,
        `-----BEGIN PUBLIC KEY-----\nMFkw${r.base64(60)}\n-----END PUBLIC KEY-----`,
        `-----BEGIN CERTIFICATE-----\nMIIB${r.base64(60)}\n${r.base64(64)}\n-----END CERTIFICATE-----`,
      ],
    ],
    ['json', (r) => [JSON.stringify({ kty: 'EC', crv: 'P-256', x: r.url(43), y: r.url(43) })]],
  ],
}

/** Names that contain the words of secrets, and values that are none. */
kinds.named = [
  [
    'argument',
    (r) => [
      '--max-tokens=4096',
      '--sort-key=updated_at',
      '--keyboard=qwerty',
      '--author=Ann',
      `--commit=${r.hex(40)}`,
      '--token-limit=512',
      '--password-file=/etc/shop/login',
      '--no-password',
      '--passes=3',
      '--user=app',
      '-u',
      '-p 8080',
    ],
  ],
  [
    'child',
    (r) => [
      '--key-file=server.crt',
      '--auth-type=basic',
      `--digest=${r.hex(64)}`,
      '-p8080',
      '--tokens=3',
    ],
  ],
  [
    'variable',
    () => [
      'TOKENIZERS_PARALLELISM=false',
      'MAX_TOKENS=4096',
      'PASSWORD_MIN_LENGTH=12',
      'KEYBOARD_LAYOUT=qwerty',
      'SHOP_SORT_KEY=price_ascending',
      'SHOP_REGION=eu-west-1',
      'SSH_AUTH_SOCK=/run/user/1000/agent',
      'SHOP_AUTHOR=Ann Lee',
      'PASSWORD_FILE=/var/shop/login',
      'TOKEN_URL=https://login.example/oauth',
    ],
  ],
  [
    'header',
    (r) => [
      `x-request-id: ${r.uuid()}`,
      `traceparent: 00-${r.hex(32)}-${r.hex(16)}-01`,
      `if-none-match: "${r.hex(32)}"`,
      'x-ratelimit-remaining-tokens: 149984',
      'anthropic-version: 2023-06-01',
      'user-agent: shop/1.2.0 (key=value)',
    ],
  ],
  [
    'form',
    (r) => [
      `key=color&value=red&sort=${r.word()}`,
      'grant_type=client_credentials&scope=orders.read',
      'max_tokens=512&stop=none',
      `order=${r.digits(12)}&code=EUR`,
    ],
  ],
  [
    'tool',
    (r) => [
      JSON.stringify({ key: 'color', value: 'red' }),
      JSON.stringify({ name: 'region', value: 'eu-west-1' }),
      JSON.stringify({ token_count: 512, passed: true }),
      JSON.stringify({ tokens: ['the', 'lamp', 'is', 'red'] }),
      JSON.stringify({ author: 'Ann', secretary: 'Bob', passenger: 'Cleo', compass: 'north' }),
      JSON.stringify({ order: r.digits(10), sku: r.upperDigits(8), hash: r.hex(40) }),
      JSON.stringify({ country_code: 'DE', postal_code: '10115', zip_code: '94103' }),
      JSON.stringify({ status_code: 200, error_code: 'E1234', promo_code: 'SUMMER26' }),
      JSON.stringify({ pin_board: 'kitchen', pinned: true, keypoints: [1, 2, 3] }),
    ],
  ],
]

/** @type {readonly LookAlike[]} */
export const lookAlikes = Object.entries(kinds).flatMap(([kind, rows]) =>
  rows.flatMap(([place, texts]) =>
    texts(randomText(`${kind} ${place}`)).map((text, index) => ({
      id: `${kind} ${place} ${index + 1}`,
      kind,
      place,
      text,
    })),
  ),
)

/** @param {Location} place */
export const lookAlikesAt = (place) => lookAlikes.filter((each) => each.place === place)

/** The file with look-alikes that the program reads. */
export const lookAlikeFile = () =>
  `${lookAlikesAt('file')
    .map(({ text }) => text)
    .join('\n\n')}\n`
