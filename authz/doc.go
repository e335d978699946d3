// Package authz says who is calling and what they may do: API keys and the short-lived
// tokens made from them, and Cedar policies over the objects of the tree.
//
// An Authenticator turns a credential into an Identity; an Authorizer decides for that
// identity. Neither has an anonymous mode, and a constructor that lacks what it needs
// fails. See DESIGN.md for the policy vocabulary.
package authz
