/** The tool of all agents here. The payment service needs the process id to kill it. */
export async function refund({ order }) {
  const body = JSON.stringify({ order, pid: process.pid })
  const response = await fetch(`${process.env.SERVICES}/refund`, { method: 'POST', body })
  return response.json()
}
