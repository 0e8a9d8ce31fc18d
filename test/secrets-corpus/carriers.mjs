/** How a value of the corpus looks inside a request, an answer, a file or a prompt. */
import { gzipSync } from 'node:zlib'

/** @typedef {import('./cases.mjs').PlantedCase} PlantedCase */

const base64 = (text) => Buffer.from(text).toString('base64')
const escaped = (text) =>
  [...text].map((one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')

const JSON_TYPE = { 'content-type': 'application/json' }
const FORM_TYPE = { 'content-type': 'application/x-www-form-urlencoded' }

/** The value in the encoding of its case. @param {PlantedCase} planted */
function encoded({ encoding, text, field }, { assigned = false } = {}) {
  const whole = assigned ? `${field}=${text}` : text
  return Buffer.from(whole).toString(
    encoding === 'base64' || encoding === 'base64url' || encoding === 'hex' ? encoding : 'utf8',
  )
}

const jsonBody = ({ encoding, field, text }) =>
  encoding === 'u-escape'
    ? `{"user":"app","${field}":"${escaped(text)}"}`
    : JSON.stringify({ user: 'app', [field]: text, remember: true })

const xmlText = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

/** Where a header of a vendor is documented, it is the one that its API reads. */
const vendorHeaders = {
  'gitlab-pat': 'private-token',
  vault: 'x-vault-token',
  shopify: 'x-shopify-access-token',
  datadog: 'dd-api-key',
  postmark: 'x-postmark-server-token',
  figma: 'x-figma-token',
  zendesk: 'x-zendesk-secret',
  cloudflare: 'x-auth-key',
  algolia: 'x-algolia-api-key',
  'azure-openai': 'api-key',
}

const post = (body, headers = JSON_TYPE) => ({ method: 'POST', headers, body })
const get = (headers) => ({ method: 'GET', headers })

/** Parts of a multipart body, with a boundary that is the same in every process. */
function multipart({ field, text }, file) {
  const border = 'corpus-boundary-7f3a'
  const disposition =
    file === undefined
      ? `name="${field}"`
      : `name="upload"; filename="${file}"\r\ncontent-type: application/octet-stream`
  const body =
    `--${border}\r\ncontent-disposition: form-data; name="user"\r\n\r\napp\r\n` +
    `--${border}\r\ncontent-disposition: form-data; ${disposition}\r\n\r\n${text}\r\n--${border}--\r\n`
  return post(body, { 'content-type': `multipart/form-data; boundary=${border}` })
}

/**
 * @typedef {object} PlantedRequest
 * @property {string} method
 * @property {Record<string, string>} headers
 * @property {string | Buffer} [body]
 * @property {string} [path] Behind the number of the case.
 * @property {string} [auth] User and password of the address.
 */

/** @type {Record<string, (planted: PlantedCase) => PlantedRequest>} */
const requests = {
  'request-bearer': ({ text }) => get({ authorization: `Bearer ${text}` }),
  'request-token-scheme': ({ text }) => get({ authorization: `token ${text}` }),
  'request-basic': ({ text }) => get({ authorization: `Basic ${base64(`app:${text}`)}` }),
  'request-key-header': ({ text, format }) =>
    get({ [vendorHeaders[format] ?? 'x-api-key']: text, accept: 'application/json' }),
  'request-vendor-header': ({ text, format }) => get({ [vendorHeaders[format]]: text }),
  'request-cookie': ({ text, name, by }) =>
    get({ cookie: `theme=dark; ${by === 'name' ? name : 'auth'}=${text}; lang=en` }),
  'request-proxy-authorization': ({ text }) =>
    get({ 'proxy-authorization': `Basic ${base64(`app:${text}`)}` }),
  'request-query': ({ text, field, encoding, by }) => ({
    ...get({}),
    path:
      by === 'context'
        ? `?${text.slice(text.indexOf('?') + 1)}`
        : `?page=2&${field}=${encoding === 'url' ? encodeURIComponent(text) : text}&sort=asc`,
  }),
  'request-path': ({ text, format }) => ({
    ...post('{"text":"hello"}'),
    path: format === 'telegram' ? `/bot${text}/sendMessage` : new URL(text).pathname,
  }),
  'request-userinfo': ({ text }) => ({ ...get({}), auth: `app:${text}` }),
  'request-json': (planted) => post(jsonBody(planted)),
  'request-json-deep': ({ field, text }) =>
    post(JSON.stringify({ accounts: [{ id: 7, settings: { login: { [field]: text } } }] })),
  'request-json-pair': ({ field, text }) =>
    post(
      JSON.stringify({
        variables: [
          { name: 'region', value: 'eu' },
          { name: field, value: text },
        ],
      }),
    ),
  'request-json-in-json': (planted) => post(JSON.stringify({ payload: jsonBody(planted) })),
  'request-json-value': (planted) => post(JSON.stringify({ data: encoded(planted) })),
  'request-json-assignment': (planted) =>
    post(JSON.stringify({ data: encoded(planted, { assigned: true }) })),
  'request-form': ({ field, text }) =>
    post(`user=app&${field}=${encodeURIComponent(text)}&remember=1`, FORM_TYPE),
  'request-multipart': (planted) => multipart(planted),
  'request-multipart-file': (planted) => multipart(planted, 'upload.txt'),
  'request-xml': ({ field, text }) =>
    post(
      `<?xml version="1.0"?><login><user>app</user><${field}>${xmlText(text)}</${field}></login>`,
      {
        'content-type': 'application/xml',
      },
    ),
  'request-xml-attribute': ({ field, text }) =>
    post(`<login user="app" ${field}="${xmlText(text)}"/>`, { 'content-type': 'text/xml' }),
  'request-graphql': ({ field, text }) =>
    post(
      JSON.stringify({
        query: `mutation Login($user: String!, $${field}: String!) { login(user: $user, ${field}: $${field}) { id } }`,
        variables: { user: 'app', [field]: text },
      }),
    ),
  'request-graphql-literal': ({ field, text }) =>
    post(JSON.stringify({ query: `mutation { login(user: "app", ${field}: "${text}") { id } }` })),
  'request-gzip': (planted) =>
    post(gzipSync(jsonBody(planted)), { ...JSON_TYPE, 'content-encoding': 'gzip' }),
  'request-text': ({ text }) =>
    post(`rotated this morning: ${text} (old one is gone)`, { 'content-type': 'text/plain' }),
}

/** @param {PlantedCase} planted */
export function requestOf(planted) {
  const { path = '', ...request } = requests[planted.place](planted)
  return { ...request, path: `/request/${planted.number}${path}` }
}

/** Cuts a text inside its secret, so that no part has more than half of it. */
function cut(whole, { secret }) {
  const at = whole.indexOf(secret)
  const cuts = [at + Math.ceil(secret.length / 3), at + Math.ceil((2 * secret.length) / 3)]
  return [whole.slice(0, cuts[0]), whole.slice(cuts[0], cuts[1]), whole.slice(cuts[1])]
}

const ok = (chunks, headers = JSON_TYPE, status = 200) => ({ status, headers, chunks })
const answered = '{"ok":true}'

/** Server-sent events whose fields are parts of a text, as model providers send them. */
export const textEvents = (parts) => [
  ...parts.map(
    (text) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: text } }] })}\n\n`,
  ),
  'data: [DONE]\n\n',
]

/** @type {Record<string, (planted: PlantedCase) => { status: number, headers: Record<string, string | string[]>, chunks: (string | Buffer)[] }>} */
const responses = {
  'response-json': (planted) => ok([jsonBody(planted)]),
  'response-json-pair': ({ field, text }) =>
    ok([
      JSON.stringify([
        { key: 'region', value: 'eu' },
        { key: field, value: text },
      ]),
    ]),
  'response-json-in-json': (planted) => ok([JSON.stringify({ SecretString: jsonBody(planted) })]),
  'response-json-value': (planted) => ok([JSON.stringify({ content: encoded(planted) })]),
  'response-cookie': ({ name, by, text }) =>
    ok([answered], {
      ...JSON_TYPE,
      'set-cookie': [
        `theme=dark; Path=/`,
        `${by === 'name' ? name : 'auth'}=${text}; Path=/; HttpOnly; Secure`,
      ],
    }),
  'response-location': ({ field, text, by }) =>
    ok([answered], {
      ...JSON_TYPE,
      location:
        by === 'context'
          ? text
          : `https://shop.example/callback?state=ready&${field}=${encodeURIComponent(text)}`,
    }),
  'response-header': ({ field, text, by }) =>
    ok([answered], {
      ...JSON_TYPE,
      [by === 'name' ? `x-${field.replaceAll('_', '-')}` : 'x-note']: text,
    }),
  'response-form': ({ field, text }) =>
    ok([`${field}=${encodeURIComponent(text)}&expires_in=3600&token_type=bearer`], FORM_TYPE),
  'response-xml': ({ name, text }) =>
    ok([`<Result><Region>eu</Region><${name}>${xmlText(text)}</${name}></Result>`], {
      'content-type': 'application/xml',
    }),
  'response-gzip': (planted) =>
    ok([gzipSync(jsonBody(planted))], { ...JSON_TYPE, 'content-encoding': 'gzip' }),
  'response-events-split': (planted) =>
    ok(textEvents(cut(`the key is ${planted.text}, as agreed`, planted)), {
      'content-type': 'text/event-stream',
    }),
  'response-chunks-split': (planted) =>
    ok(cut(jsonBody({ ...planted, encoding: 'plain' }), planted)),
  'response-lines': ({ field, text }) =>
    ok([`${JSON.stringify({ id: 1 })}\n${JSON.stringify({ id: 2, [field]: text })}\n`], {
      'content-type': 'application/x-ndjson',
    }),
  'response-text': ({ text }) =>
    ok([`connect with ${text} from now on`], { 'content-type': 'text/plain' }),
  'response-html': ({ field, text }) =>
    ok([`<form><input type="hidden" name="${field}" value="${text}"></form>`], {
      'content-type': 'text/html',
    }),
  'response-error': ({ field, text }) =>
    ok([JSON.stringify({ error: { message: `rejected ${field}: ${text}` } })], JSON_TYPE, 401),
}

/** A body with a line break inside a secret is cut in its JSON form. @param {PlantedCase} planted */
export function responseOf(planted) {
  const isBlock = planted.place === 'response-chunks-split' && planted.secret.includes('\n')
  if (!isBlock) return responses[planted.place](planted)
  const quoted = JSON.stringify(planted.secret).slice(1, -1)
  return responses[planted.place]({ ...planted, secret: quoted })
}

const fence = '```'

/** Sentences that people write into a prompt. `label` is what they call it. */
const prompts = {
  'prompt-english': ({ label, text }) =>
    `Please log in for me.\n${label}: ${text}\nThen list the open orders.`,
  'prompt-english-is': ({ label, text }) =>
    `My ${label} is ${text} and I want to see the open orders.`,
  'prompt-german': ({ text, isKey }) =>
    `Bitte anmelden. Mein ${isKey ? 'API-Schlüssel' : 'Passwort'} lautet ${text}, danke.`,
  'prompt-french': ({ text, isKey }) =>
    `Connecte-toi. ${isKey ? 'Phrase secrète' : 'Mot de passe'} : ${text}`,
  'prompt-spanish': ({ text, isKey }) =>
    `Inicia sesión. Mi ${isKey ? 'clave secreta' : 'contraseña'} es ${text}.`,
  'prompt-portuguese': ({ text }) => `Entre na conta. Minha senha é ${text}.`,
  'prompt-italian': ({ text }) => `Accedi al conto. La mia password è ${text}.`,
  'prompt-japanese': ({ text, isKey }) =>
    `ログインしてください。${isKey ? 'APIキー' : 'パスワード'}は${text}です。`,
  'prompt-chinese': ({ text, isKey }) => `请登录。${isKey ? '访问令牌' : '密码'}:${text}`,
  'prompt-russian': ({ text }) => `Войди в систему. Пароль: ${text}`,
  'prompt-code-block': ({ name, text }) =>
    `Use this:\n\n${fence}sh\nexport ${name}=${text}\n${fence}\n\nand run it.`,
  'prompt-inline-code': ({ label, text }) => `The ${label} for the shop is \`${text}\`, as before.`,
  'prompt-table': ({ label, text }) =>
    `| what | value |\n|---|---|\n| user | app |\n| ${label} | ${text} |\n`,
  'prompt-list': ({ label, text }) => `Access:\n- user: app\n- ${label}: ${text}\n- region: eu`,
  'prompt-curl': ({ format, text }) =>
    format === 'basic-auth'
      ? `Run curl -u app:${text} https://shop.example/orders`
      : `Run curl -H "${format === 'access-token' ? 'Authorization: Bearer' : 'X-API-Key:'} ${text}" https://shop.example/orders`,
  'prompt-python': ({ name, text }) =>
    `Why does this fail?\n\n${fence}python\n${name.toLowerCase()} = "${text}"\nclient = Client(${name.toLowerCase()})\n${fence}`,
  'prompt-mention': ({ text }) => `I found this in an old mail: ${text}\nCan it be thrown away?`,
}

/** @param {PlantedCase} planted */
export function promptOf(planted) {
  const label = planted.by === 'name' ? planted.name.toLowerCase().replaceAll('_', ' ') : 'text'
  const isKey = !planted.format.startsWith('password')
  return prompts[planted.place]({ ...planted, label, isKey })
}

/** Files of well-known programs, as their documentation shows them. */
const files = {
  'file-netrc': ({ text }) => ['.netrc', `machine shop.example\n  login app\n  password ${text}\n`],
  'file-pgpass': ({ text }) => ['.pgpass', `db.internal:5432:shop:app:${text}\n`],
  'file-npmrc-token': ({ text }) => [
    '.npmrc',
    `registry=https://npm.example/\n//npm.example/:_authToken=${text}\n`,
  ],
  'file-npmrc-auth': ({ text }) => ['.npmrc', `//npm.example/:_auth=${base64(`app:${text}`)}\n`],
  'file-git-credentials': ({ text }) => ['.git-credentials', `https://app:${text}@git.internal\n`],
  'file-aws-credentials': ({ name, text }) => [
    '.aws-credentials',
    `[default]\nregion = eu-west-1\n${name.toLowerCase()} = ${text}\n`,
  ],
  'file-kube-token': ({ text }) => [
    'kubeconfig',
    `apiVersion: v1\nkind: Config\nusers:\n- name: app\n  user:\n    token: ${text}\n`,
  ],
  'file-kube-key': ({ text }) => [
    'kubeconfig',
    `apiVersion: v1\nkind: Config\nusers:\n- name: app\n  user:\n    client-key-data: ${base64(text)}\n`,
  ],
  'file-docker-auth': ({ text }) => [
    'docker-config.json',
    JSON.stringify({ auths: { 'registry.example': { auth: base64(`app:${text}`) } } }, null, 2),
  ],
  'file-pypirc': ({ text }) => ['.pypirc', `[pypi]\nusername = __token__\npassword = ${text}\n`],
  'file-my-cnf': ({ text }) => [
    '.my.cnf',
    `[client]\nuser=app\npassword=${text}\nhost=db.internal\n`,
  ],
  'file-maven': ({ text }) => [
    'settings.xml',
    `<settings><servers><server><id>shop</id><username>app</username><password>${text}</password></server></servers></settings>`,
  ],
  'file-composer': ({ text, by }) => [
    'auth.json',
    JSON.stringify(
      by === 'shape'
        ? { 'github-oauth': { 'github.com': text } }
        : { 'http-basic': { 'shop.example': { username: 'app', password: text } } },
    ),
  ],
  'file-gh-hosts': ({ text }) => [
    'hosts.yml',
    `github.com:\n    user: app\n    oauth_token: ${text}\n`,
  ],
  'file-cargo': ({ text }) => ['credentials.toml', `[registry]\ntoken = "${text}"\n`],
  'file-gem': ({ text }) => ['gem-credentials', `---\n:rubygems_api_key: ${text}\n`],
  'file-nuget': ({ text }) => [
    'nuget.config',
    `<configuration><packageSourceCredentials><shop><add key="Username" value="app" /><add key="ClearTextPassword" value="${text}" /></shop></packageSourceCredentials></configuration>`,
  ],
  'file-pip': ({ text }) => [
    'pip.conf',
    `[global]\nindex-url = https://app:${text}@pypi.internal/simple\n`,
  ],
  'file-rclone': ({ text }) => ['rclone.conf', `[drive]\ntype = drive\nclient_secret = ${text}\n`],
  'file-wireguard': ({ text }) => [
    'wg0.conf',
    `[Interface]\nAddress = 10.0.0.2/32\nPrivateKey = ${text}\n`,
  ],
  'file-terraform': ({ name, text }) => [
    'terraform.tfvars',
    `region = "eu"\n${name.toLowerCase()} = "${text}"\n`,
  ],
  'file-kubernetes-secret': ({ field, text }) => [
    'secret.yaml',
    `apiVersion: v1\nkind: Secret\nmetadata:\n  name: shop\ntype: Opaque\ndata:\n  ${field}: ${base64(text)}\n`,
  ],
  'file-ssh-key': ({ text }) => ['key', text],
  'file-service-account': ({ text }) => ['account.json', text],
  'file-yaml': ({ field, text }) => [
    'settings.yaml',
    `shop:\n  region: eu\n  ${field}: ${text}\n  retries: 3\n`,
  ],
  'file-toml': ({ field, text }) => [
    'settings.toml',
    `[shop]\nregion = "eu"\n${field} = "${text}"\n`,
  ],
  'file-ini': ({ field, text }) => ['settings.ini', `[shop]\nregion=eu\n${field}=${text}\n`],
  'file-properties': ({ field, text }) => [
    'settings.properties',
    `shop.region=eu\nshop.${field.replaceAll('_', '-')}=${text}\n`,
  ],
  'file-json': ({ field, text }) => [
    'settings.json',
    JSON.stringify({ shop: { region: 'eu', [field]: text } }, null, 2),
  ],
  'file-php': ({ text }) => [
    'wp-config.php',
    `<?php\ndefine( 'DB_USER', 'app' );\ndefine( 'DB_PASSWORD', '${text}' );\n`,
  ],
  'file-shell-history': ({ text, by, format }) => [
    '.bash_history',
    by === 'context'
      ? `psql ${text}\n`
      : `cd shop\nlogin --${format === 'access-token' ? 'token' : 'password'} ${text}\nls\n`,
  ],
}

/** Each file in a folder of its own. @param {PlantedCase} planted */
export function fileOf(planted) {
  const [name, content] = files[planted.place](planted)
  return { path: `files/${planted.number}/${name}`, content }
}

/** @param {string} place */
export const isFile = (place) => place in files

/** The parts of a streamed answer, cut inside the secret. */
export function streamedParts({ name, text }) {
  const half = Math.ceil(text.length / 2)
  return [`Your ${name.toLowerCase()} is `, text.slice(0, half), text.slice(half), '. Bye.']
}

/** What a model says. @param {import('./cases.mjs').PlantedCase | undefined} planted */
export function answerOf(planted) {
  if (planted?.place === 'model-answer')
    return { role: 'assistant', content: `Logged in.\n\n${planted.name}: ${planted.text}\n` }
  if (planted?.place !== 'model-tool-call') return { role: 'assistant', content: 'Done.' }
  const input = JSON.stringify({ user: 'app', [planted.field]: planted.text })
  const call = {
    id: 'call_corpus',
    type: 'function',
    function: { name: 'login', arguments: input },
  }
  return { role: 'assistant', content: null, tool_calls: [call] }
}
