/** Sends the requests it is handed, one after the other, and prints each answer. */
for (const { path, body, headers } of JSON.parse(process.env.AGENT_REQUESTS)) {
  const response = await fetch(process.env.AGENT_BASE_URL + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  console.log(response.status, Buffer.from(await response.arrayBuffer()).toString('base64'))
}
