/** What the agents of the contract suite ask about, and the tool they have. */
export const question = 'Where is order 1182?'

export const orderParameters = {
  type: 'object',
  properties: { id: { type: 'string', description: 'Number of the order' } },
  required: ['id'],
}

export const orderTool = {
  name: 'find_order',
  description: 'Finds an order by its number',
  parameters: orderParameters,
}

/** Says something else every time, so that only a recording can repeat it. */
export const findOrder = ({ id }) => `${id} left the house ${Math.round(Math.random() * 1e6)}`
